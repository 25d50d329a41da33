// Elements that migrate while messages, broadcasts, reductions and contributions are under way.
#include <algorithm>
#include <random>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct traveller : array_element<traveller, index<1>> {
  std::vector<int> next;
  std::vector<int> steps_seen;
  std::string luggage;
  int moves = 0, broadcasts = 0;
  traveller() = default;
  explicit traveller(int senders) : next(static_cast<std::size_t>(senders), 0), luggage(100, 'x') {}
  void hit(int sender, int number, std::string text) {
    check_equal(number, next.at(static_cast<std::size_t>(sender))++);
    check_equal(text.size(), static_cast<std::size_t>(number % 50));
  }
  void go(int pe) { migrate_to(pe); }
  void on_migrated() { ++moves; }
  int moved() { return moves; }
  int total() {
    int sum_of_all = 0;
    for (const int each : next) sum_of_all += each;
    return sum_of_all;
  }
  void tick(int number) { check_equal(number, broadcasts++); }
  int ticks() { return broadcasts; }
  int where() { return this_pe(); }
  int ghost(int step, int value) {
    steps_seen.push_back(step);
    return value;
  }
  task<int> collect(int steps) {
    int total_value = 0;
    for (int step = 0; step < steps; ++step) total_value += co_await when<&traveller::ghost>(step);
    co_return total_value;
  }
  void give(int round, callback<int> target) {
    contribute(round, sum, target);
    if (round % 2 == 0) migrate_to((this_pe() + 1 + this_index()[0]) % pe_count());
  }
  int baggage() { return static_cast<int>(luggage.size()); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(next, steps_seen, luggage, moves, broadcasts);
  }
};

struct sender : group_member<sender> {
  std::mt19937 random{static_cast<unsigned>(this_pe() + 1)};
  std::vector<int> numbers = std::vector<int>(64, 0);
  int draw(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
  task<int> run(array<traveller> targets, int rounds, int n) {
    for (int round = 0; round < rounds; ++round) {
      for (int k = 0; k < 10; ++k) {
        const int e = draw(n);
        const int number = numbers[static_cast<std::size_t>(e)]++;
        targets(e).send<&traveller::hit>(this_pe(), number, std::string(static_cast<std::size_t>(number % 50), 'y'));
      }
      targets(draw(n)).send<&traveller::go>(draw(pe_count()));
      co_await this_array()[index<1>(draw(pe_count()))].call<&sender::nothing>();
    }
    co_return rounds * 10;
  }
  void nothing() {}
};

void migration_under_load() {
  constexpr int n = 10;
  auto targets = make_array<traveller>({n}, pe_count());
  auto senders = make_group<sender>();
  auto sent = senders.reduce<&sender::run>(sum, targets, 150, n);
  int reductions = 0;
  while (!sent.ready()) {
    targets.broadcast<&traveller::tick>(reductions++);
    check_equal(static_cast<int>(targets.reduce<&traveller::moved>(gather).get().size()), n);
  }
  const int total_sent = sent.get();
  quiescence().get();
  check_equal(targets.reduce<&traveller::total>(sum).get(), total_sent);
  check_equal(targets.reduce<&traveller::ticks>(sum).get(), n * reductions);
  check_equal(targets.reduce<&traveller::baggage>(minimum).get(), 100);
  if (pe_count() > 1) check(targets.reduce<&traveller::moved>(sum).get() > 0, "nothing migrated");
}
const case_entry load_case{"migration_under_load", &migration_under_load};

void where_they_are() {
  constexpr int n = 7;
  auto targets = make_array<traveller>({n}, 1);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) targets(i).send<&traveller::go>((i + round) % pe_count());
    quiescence().get();
    const auto places = targets.reduce<&traveller::where>(gather).get();
    for (int i = 0; i < n; ++i) {
      check_equal(places[static_cast<std::size_t>(i)], (i + round) % pe_count());
      check_equal(targets(i).call<&traveller::where>().get(), (i + round) % pe_count());
      check((targets(i).local() != nullptr) == ((i + round) % pe_count() == 0), "local()");
    }
  }
}
const case_entry where_case{"where_they_are", &where_they_are};

// Contributions while elements move between PEs and back.
struct result_log : group_member<result_log> {
  std::vector<int> results;
  void note(int value) { results.push_back(value); }
  std::vector<int> all_results() { return results; }
};
void contributions_while_moving() {
  constexpr int n = 12, rounds = 60;
  auto targets = make_array<traveller>({n}, 1);
  auto log = make_group<result_log>();
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < n; ++i) targets((i * 5) % n).send<&traveller::give>(round, to<&result_log::note>(log[0]));
  quiescence().get();
  auto results = log[0].call<&result_log::all_results>().get();
  check_equal(results.size(), std::size_t{rounds});
  std::sort(results.begin(), results.end());  // roots finish in any order: their parts come from several PEs
  for (int round = 0; round < rounds; ++round) check_equal(results[static_cast<std::size_t>(round)], round * n);
}
const case_entry contributions_case{"contributions_while_moving", &contributions_while_moving};

// Multicasts and reductions of a section while its members move: each member hears each once.
void sections_while_moving() {
  constexpr int n = 12, rounds = 80;
  auto targets = make_array<traveller>({n}, pe_count());
  std::vector<index<1>> members;
  for (int i = 0; i < n; ++i)
    if (i % 3 != 0) members.push_back({i});
  const int size = static_cast<int>(members.size());
  const auto some = targets.select(members);
  std::mt19937 random(7);
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::vector<future<int>> bags;
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < 3; ++k) targets(draw(n)).send<&traveller::go>(draw(pe_count()));
    some.multicast<&traveller::ghost>(round, 1);
    bags.push_back(some.reduce<&traveller::baggage>(sum));
    if (round % 8 != 0) continue;  // several are under way at once
    check_equal(bags.back().get(), 100 * size);
    bags.pop_back();
  }
  for (auto& each : bags) check_equal(each.get(), 100 * size);
  quiescence().get();
  // Those that nobody asked for wait with their element.
  check_equal(targets.select(members).reduce<&traveller::moved>(gather).get().size(), members.size());
  for (const index<1>& member : members) check_equal(targets[member].call<&traveller::collect>(rounds).get(), rounds);
  if (pe_count() > 1) check(targets.reduce<&traveller::moved>(sum).get() > 0, "nothing migrated");
}
const case_entry sections_moving_case{"sections_while_moving", &sections_while_moving};

// Messages kept for a later `when` travel with their element.
void kept_messages_travel() {
  constexpr int n = 6;
  auto targets = make_array<traveller>({n}, 1);
  for (int i = 0; i < n; ++i) {
    for (int step = 3; step >= 0; --step) targets(i).send<&traveller::ghost>(step, 10 * i + step);
    targets(i).send<&traveller::go>((i + 1) % pe_count());
    targets(i).send<&traveller::ghost>(4, 10 * i + 4);
  }
  quiescence().get();
  for (int i = 0; i < n; ++i) check_equal(targets(i).call<&traveller::collect>(5).get(), 50 * i + 10);
}
const case_entry kept_case{"kept_messages_travel", &kept_messages_travel};

// A coroutine that waits for messages goes with its element to another PE of the same process, and ends there.
void coroutines_travel() {
  constexpr int n = 8;
  auto targets = make_array<traveller>({n}, 1);
  for (int round = 0; round < 20; ++round) {
    auto totals = targets.reduce<&traveller::collect>(sum, 4);
    std::vector<future<int>> called;
    for (int i = 0; i < n; ++i) called.push_back(targets(i).call<&traveller::collect>(4));
    quiescence().get();
    const auto places = targets.reduce<&traveller::where>(gather).get();
    for (int step = 0; step < 4; ++step)
      for (int i = 0; i < n; ++i) {
        const int process = places[static_cast<std::size_t>(i)] / pes_per_process();
        targets(i).send<&traveller::ghost>(step, 1);
        targets(i).send<&traveller::go>(process * pes_per_process() + (i + step + round) % pes_per_process());
        targets(i).send<&traveller::ghost>(step, 1);
      }
    check_equal(totals.get(), n * 4);
    for (auto& each : called) check_equal(each.get(), 4);
    quiescence().get();
  }
}
const case_entry coroutines_travel_case{"coroutines_travel", &coroutines_travel};

// Elements migrate and delete themselves between broadcasts: a reduction counts each exactly once.
struct wanderer : array_element<wanderer, index<1>> {
  int lives = 0;
  wanderer() = default;
  explicit wanderer(int hops) : lives(hops) {}
  void wander(int seed) {
    if (lives-- == 0) {
      erase_this();
      return;
    }
    this_element().send<&wanderer::wander>(seed * 7 + 3);
    migrate_to((seed * 7 + 3 + this_index()[0]) % pe_count());
  }
  int one() { return 1; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(lives);
  }
};
void reductions_while_dying() {
  auto all = make_sparse_array<wanderer>();
  int born = 0;
  for (; born < 3; ++born) all.insert_on(born % pe_count(), born, 1 << 30);  // these stay
  quiescence().get();
  for (int round = 0; round < 150; ++round) {
    const int first = born;
    for (; born < first + 6; ++born) {
      all.insert_on(born % pe_count(), born, born % 7);
      all(born).send<&wanderer::wander>(round);
    }
    const int population = all.reduce<&wanderer::one>(sum).get();
    check(population >= 3 && population <= born, fmt::format("population {}", population));
  }
  quiescence().get();
  check_equal(all.reduce<&wanderer::one>(sum).get(), 3);
}
const case_entry dying_case{"reductions_while_dying", &reductions_while_dying};

}  // namespace
}  // namespace tri::testing
