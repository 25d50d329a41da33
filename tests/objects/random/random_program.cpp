// Random programs against a sequential model: sparse and dense arrays, objects without a place, sections, callbacks of
// every kind that elements keep, coroutines, completion detection, migration and load balancing while messages are
// under way, checkpoints. The state of the job is the handles and the model; so a job that is restarted from a
// checkpoint, on any number of PEs, goes on with the same random numbers and must still agree with its model.
//
//   random_program FOLDER SEED STEPS     begins with SEED, or goes on if it is restarted; checks all in the end
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "trireme/balance.hpp"
#include "trireme/balance_strategy.hpp"
#include "trireme/checkpoint.hpp"
#include "trireme/completion.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

// ---- the objects

/// What an element was given: by one sender, in its order, and by anyone in any order.
struct account {
  std::uint64_t ordered = 0;
  long sum = 0;
  long gifts = 0;
  friend bool operator==(const account&, const account&) = default;
  void add(long value) { ordered = ordered * 31 + static_cast<std::uint64_t>(value) + 1; }
  void put(long value, long times = 1) {
    sum += value * times;
    gifts += times;
  }
};

struct owner : array_element<owner, index<1>> {
  account has;
  std::vector<callback<long>> kept;

  void add(long value) { has.add(value); }
  void put(long value) { has.put(value); }
  account get() const { return has; }
  void hop(int pe) { migrate_to(pe); }
  void end() { erase_this(); }
  void keep(callback<long> target) { kept.push_back(target); }
  void use(long value) {
    for (const callback<long>& each : kept) each(value);
  }
  long doubled(long value) const { return 2 * value; }
  task<> ask(element_ref<owner> other, long value) {
    const long answer = co_await other.call<&owner::doubled>(value);
    has.put(answer);
  }
  // Whatever comes first counts once: the answer, or the time. Then the message is awaited, with or without a time-out.
  void go(int /*number*/, long value) { has.put(value); }
  task<> wait(element_ref<owner> other, int number) {
    const auto answer =
        co_await with_timeout(other.call<&owner::doubled>(1), std::chrono::microseconds(1 + number % 300));
    has.put(answer.has_value() && *answer != 2 ? 1000 : 0);
    const auto first = co_await select(when<&owner::go>(number), after(std::chrono::microseconds(number % 200)));
    if (first.index() == 1) co_await when<&owner::go>(number);
  }
  void contribute_to_all(long value, element_ref<owner> target) { contribute(value, sum, to<&owner::put>(target)); }
  void contribute_to_part(section_name part, long value, element_ref<owner> target) {
    contribute(part, value, sum, to<&owner::put>(target));
  }
  // Each message causes two, `depth` levels deep.
  void grow(completion_detector set, int depth, int elements) {
    has.put(depth);
    set.produce(depth > 0 ? 2 : 0);
    for (int child = 0; depth > 0 && child < 2; ++child)
      this_array()((this_index()[0] + depth + child) % elements).send<&owner::grow>(set, depth - 1, elements);
    set.consume();
  }
  void describe_load(load_description& load) { load.load_ns(1'000'000'000); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(has, kept);
  }
};

/// An object without a place: makes others, and gives to an element.
struct branch : object<branch> {
  branch(element_ref<owner> target, seed_strategy how, int depth) {
    target.send<&owner::put>(depth);
    for (int child = 0; depth > 0 && child < 2; ++child) make_object<branch>(how, target, how, depth - 1);
    erase_this();
  }
};
struct single : object<single> {
  account has;
  single() = default;
  explicit single(long value) { has.add(value); }
  void add(long value) { has.add(value); }
  account get() const { return has; }
  void hop(int pe) { migrate_to(pe); }
  void end() { erase_this(); }
  void describe_load(load_description& load) { load.load_ns(1'000'000'000); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(has);
  }
};

const bool added = [] {  // all to the next PE: the makespan stays
  balancing::add_strategy(
      {"rotate", "all to the next PE", [](const balancing::snapshot& of, const balancing::strategy_options&) {
         std::vector<balancing::move> moves;
         const auto pes = static_cast<std::int32_t>(of.pes.size());
         for (std::uint32_t object = 0; pes > 1 && object < of.objects.size(); ++object)
           if (of.objects[object].is_migratable)
             moves.push_back({object, of.objects[object].pe, (of.objects[object].pe + 1) % pes});
         return balancing::decided_moves(moves);
       }});
  return true;
}();

// ---- the job and its model

constexpr int numbered = 40;   // elements of the dense array
constexpr int lasting = 24;    // of these the first are never deleted: targets, and members of sections
constexpr int most_keys = 30;  // of the sparse array
constexpr int most_singles = 20;

struct part {
  section<owner> handle;
  std::vector<int> members;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(handle, members);
  }
};
/// A callback that element `keeper` has, and which of `numbers` get its value.
struct kept_callback {
  int keeper = 0;
  int kind = 0;  // an element, all, a section
  int target = 0;
};

struct state {
  array<owner> numbers, keys;
  completion_detector set;
  std::uint64_t random = 0;
  std::uint64_t steps = 0;
  std::uint64_t moved = 0;  // by balancing
  std::map<int, account> of_numbers, of_keys;
  std::vector<part> parts;
  std::vector<kept_callback> callbacks;
  std::vector<std::pair<element_ref<single>, account>> singles;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(numbers, keys, set, random, steps, moved, of_numbers, of_keys, parts, callbacks, singles);
  }
};

class random_program {
 public:
  explicit random_program(std::string folder) : folder_(std::move(folder)) {}

  void begin(std::uint64_t seed) {
    now_.random = seed * 1000003;
    now_.numbers = make_array<owner>({numbered}, draw(2) == 0 ? round_robin() : block());
    now_.keys = make_sparse_array<owner>();
    now_.set = make_completion_detector();
    for (int i = 0; i < numbered; ++i) now_.of_numbers[i] = {};
  }
  void go_on() {
    now_ = restored_state<state>();
    check_all();
  }
  const state& now() const { return now_; }

  void step() {
    using action = void (random_program::*)();
    constexpr action all[] = {&random_program::add,         &random_program::add,        &random_program::add,
                              &random_program::put,         &random_program::hop,        &random_program::hop,
                              &random_program::insert,      &random_program::erase,      &random_program::broadcast,
                              &random_program::multicast,   &random_program::make_part,  &random_program::keep,
                              &random_program::use,         &random_program::ask,        &random_program::wait,
                              &random_program::contribute,  &random_program::plant,      &random_program::make_single,
                              &random_program::use_single,  &random_program::detect,     &random_program::balance_all,
                              &random_program::balance_all, &random_program::write_state};
    (this->*all[draw(static_cast<int>(std::size(all)))])();
    ++now_.steps;
  }

  void check_all() {
    quiescence().get();
    long sum_of_all = 0;
    for (const auto& [i, expected] : now_.of_numbers) {
      check_account(now_.numbers(i).call<&owner::get>().get(), expected, "numbers", i);
      sum_of_all += expected.sum;
    }
    for (const auto& [i, expected] : now_.of_keys)
      check_account(now_.keys(i).call<&owner::get>().get(), expected, "keys", i);
    for (std::size_t i = 0; i < now_.singles.size(); ++i)
      check_account(now_.singles[i].first.call<&single::get>().get(), now_.singles[i].second, "singles",
                    static_cast<int>(i));
    const auto all = now_.numbers.reduce<&owner::get>(gather).get();
    check_equal(all.size(), now_.of_numbers.size());
    long sum_found = 0;
    for (const account& each : all) sum_found += each.sum;
    check_equal(sum_found, sum_of_all);
  }

 private:
  int draw(int below) {
    now_.random += 0x9e3779b97f4a7c15u;
    std::uint64_t value = now_.random;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return static_cast<int>((value ^ (value >> 31)) % static_cast<std::uint64_t>(below));
  }
  template <class Container>
  auto pick(Container& of) {
    return std::next(of.begin(), draw(static_cast<int>(of.size())));
  }
  static void check_account(const account& found, const account& expected, const char* of, int which) {
    check(found == expected,
          fmt::format("{} {}: ordered {:x}, sum {}, gifts {}; expected {:x}, {}, {}", of, which, found.ordered,
                      found.sum, found.gifts, expected.ordered, expected.sum, expected.gifts));
  }
  bool takes_key() { return !now_.of_keys.empty() && draw(3) == 0; }
  /// Some element of the arrays, and what it has.
  std::pair<element_ref<owner>, account*> any() {
    if (takes_key()) {
      const auto found = pick(now_.of_keys);
      return {now_.keys(found->first), &found->second};
    }
    const auto found = pick(now_.of_numbers);
    return {now_.numbers(found->first), &found->second};
  }
  std::pair<element_ref<owner>, account*> any_lasting() {
    const int i = draw(lasting);
    return {now_.numbers(i), &now_.of_numbers[i]};
  }
  void give_all(long value) {
    for (auto& [i, has] : now_.of_numbers) has.put(value);
  }
  void give_part(const part& of, long value) {
    for (const int i : of.members) now_.of_numbers[i].put(value);
  }

  void add() {
    const auto [element, has] = any();
    for (int times = 1 + draw(5); times > 0; --times) {
      const long value = draw(1000);
      element.send<&owner::add>(value);
      has->add(value);
    }
  }
  void put() {
    const auto [element, has] = any();
    const long value = draw(100);
    if (draw(2) == 0)
      element.with(immediate).send<&owner::put>(value);
    else
      element.with(priority(draw(5) - 2)).send<&owner::put>(value);
    has->put(value);
  }
  void hop() { any().first.send<&owner::hop>(draw(pe_count())); }
  void insert() {
    const int i = draw(most_keys);
    if (now_.of_keys.contains(i)) return;
    now_.keys.insert({i});
    quiescence().get();  // where it was deleted before, a message could come earlier than the insertion
    now_.of_keys[i] = {};
  }
  void erase() {
    quiescence().get();  // no message to it may be on its way
    if (takes_key()) {
      const auto found = pick(now_.of_keys);
      now_.keys(found->first).send<&owner::end>();
      now_.of_keys.erase(found);
    } else if (!now_.singles.empty() && draw(2) == 0) {
      const auto found = pick(now_.singles);
      found->first.send<&single::end>();
      now_.singles.erase(found);
    } else if (now_.of_numbers.size() > lasting) {
      const auto found = std::next(now_.of_numbers.begin(), lasting);
      now_.numbers(found->first).send<&owner::end>();
      now_.of_numbers.erase(found);
    }
    quiescence().get();
  }
  void broadcast() {
    const long value = draw(10);
    now_.numbers.broadcast<&owner::put>(value);
    give_all(value);
  }
  void make_part() {
    std::vector<index<1>> members;
    part made;
    for (int i = 0; i < lasting; ++i)
      if (draw(3) == 0) {
        members.push_back({i});
        made.members.push_back(i);
      }
    if (members.empty()) return;
    made.handle = now_.numbers.select(members);
    now_.parts.push_back(std::move(made));
  }
  void multicast() {
    if (now_.parts.empty()) return;
    const part& of = *pick(now_.parts);
    const long value = draw(10);
    of.handle.multicast<&owner::put>(value);
    give_part(of, value);
  }
  void keep() {
    const kept_callback made{draw(lasting), now_.parts.empty() ? draw(2) : draw(3),
                             draw(now_.parts.empty() ? lasting : static_cast<int>(now_.parts.size()))};
    callback<long> target;
    if (made.kind == 0)
      target = to<&owner::put>(now_.numbers(made.target % lasting));
    else if (made.kind == 1)
      target = to<&owner::put>(now_.numbers);
    else
      target = to<&owner::put>(now_.parts[static_cast<std::size_t>(made.target)].handle);
    now_.numbers(made.keeper).send<&owner::keep>(target);
    now_.callbacks.push_back(made);
  }
  void use() {
    if (now_.callbacks.empty()) return;
    const int keeper = pick(now_.callbacks)->keeper;
    const long value = draw(10);
    now_.numbers(keeper).send<&owner::use>(value);
    for (const kept_callback& each : now_.callbacks) {
      if (each.keeper != keeper) continue;
      if (each.kind == 0)
        now_.of_numbers[each.target % lasting].put(value);
      else if (each.kind == 1)
        give_all(value);
      else
        give_part(now_.parts[static_cast<std::size_t>(each.target)], value);
    }
    if (draw(2) == 0) quiescence().get();
  }
  void ask() {
    const auto [element, has] = any_lasting();
    const long value = draw(10);
    element.send<&owner::ask>(any_lasting().first, value);
    has->put(2 * value);
  }
  void wait() {
    const auto [element, has] = any_lasting();
    const int number = static_cast<int>(now_.steps);
    const long value = draw(10);
    const bool first = draw(2) == 0;
    if (first) element.send<&owner::go>(number, value);
    element.send<&owner::wait>(any_lasting().first, number);
    if (draw(2) == 0) element.send<&owner::hop>(draw(pe_count()));
    if (!first) element.send<&owner::go>(number, value);
    has->put(0);
    has->put(value);
  }
  void contribute() {
    quiescence().get();  // the n-th ones of all belong together, and broadcasts and moves are not ordered
    const auto [target, has] = any_lasting();
    const long value = draw(10);
    if (now_.parts.empty() || draw(2) == 0) {
      now_.numbers.broadcast<&owner::contribute_to_all>(value, target);
      has->put(value * static_cast<long>(now_.of_numbers.size()));
    } else {
      const part& of = *pick(now_.parts);
      of.handle.multicast<&owner::contribute_to_part>(of.handle.name(), value, target);
      has->put(value * static_cast<long>(of.members.size()));
    }
    quiescence().get();
  }
  static seed_strategy any_seed_strategy(int which) {
    constexpr seed_strategy all[] = {seed_strategy::here, seed_strategy::random, seed_strategy::neighbour,
                                     seed_strategy::stealing};
    return all[which];
  }
  void plant() {
    const auto [target, has] = any_lasting();
    const int depth = draw(6);
    const seed_strategy how = any_seed_strategy(draw(4));
    make_object<branch>(how, target, how, depth);
    for (int level = 0; level <= depth; ++level) has->put(level, 1L << (depth - level));
  }
  void make_single() {
    if (now_.singles.size() == most_singles) return;
    const long value = draw(1000);
    account has;
    has.add(value);
    now_.singles.emplace_back(make_object<single>(any_seed_strategy(draw(4)), value), has);
  }
  void use_single() {
    if (now_.singles.empty()) return;
    auto& [element, has] = *pick(now_.singles);
    if (draw(2) == 0) element.send<&single::hop>(draw(pe_count()));
    const long value = draw(1000);
    element.send<&single::add>(value);
    has.add(value);
  }
  void detect() {
    const int depth = draw(6), first = draw(lasting);
    future<void> complete = now_.set.begin(1);
    now_.set.produce();
    now_.numbers(first).send<&owner::grow>(now_.set, depth, lasting);
    now_.set.done();
    std::map<int, long> messages{{first, 1}};
    for (int level = depth; level >= 0; --level) {
      std::map<int, long> below;
      for (const auto& [i, count] : messages) {
        now_.of_numbers[i].put(level, count);
        for (int child = 0; child < 2; ++child) below[(i + level + child) % lasting] += count;
      }
      messages = std::move(below);
    }
    complete.get();
    const int some = draw(lasting);  // handled means handled
    if (draw(4) == 0) {
      quiescence().get();
      check_account(now_.numbers(some).call<&owner::get>().get(), now_.of_numbers[some], "completed numbers", some);
    }
  }
  void balance_all() {
    constexpr const char* strategies[] = {"rotate", "rotate", "greedy", "refine", "gossip", "hierarchy"};
    balance_options options;
    options.strategy = strategies[draw(static_cast<int>(std::size(strategies)))];
    options.only_if_it_pays = draw(8) == 0;
    future<balance_report> done = tri::balance(options);
    if (draw(2) == 0) {  // while it is under way
      add();
      hop();
      broadcast();
      use();
    }
    now_.moved += static_cast<std::uint64_t>(done.get().moved);
  }
  void write_state() {
    if (draw(3) != 0) return;
    const state before = now_;
    checkpoint(folder_, before).get();
  }

  const std::string folder_;
  state now_;
};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** words) {
    if (count != 4) throw std::runtime_error("usage: random_program FOLDER SEED STEPS");
    tri::testing::random_program program(words[1]);
    const std::uint64_t seed = std::strtoull(words[2], nullptr, 10);
    if (tri::is_restarted())
      program.go_on();
    else
      program.begin(seed);
    const std::uint64_t from = program.now().steps;
    for (int steps = std::atoi(words[3]); steps > 0; --steps) program.step();
    program.check_all();
    std::printf("seed %llu: steps %llu to %llu, %llu moved by balancing\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(from), static_cast<unsigned long long>(program.now().steps),
                static_cast<unsigned long long>(program.now().moved));
  });
}
