// Load balancing of running programs: what is measured, what moves, and what happens to requests that make no sense.
#include "trireme/balance.hpp"

#include <array>
#include <chrono>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>

#include "system/cases/cases.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::testing {
namespace {

std::int64_t cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// ---- strategies of the test: one looks at the snapshot, the others do what a case wants

balancing::snapshot seen;                                                        // by the last strategy; of PE 0
std::function<std::vector<balancing::move>(const balancing::snapshot&)> wanted;  // moves; empty: none

const bool added = [] {
  balancing::add_strategy(
      {"as_wanted", "what the case wants", [](const balancing::snapshot& of, const balancing::strategy_options&) {
         seen = of;
         return balancing::decided_moves(wanted ? wanted(of) : std::vector<balancing::move>{});
       }});
  return true;
}();

// Of the objects of a case that moves some: they are heavy, and there are as many on each PE. So the makespan stays.
constexpr std::int64_t heavy_ns = 10'000'000'000;

/// Each case has a load of its own: those of older cases stay where they are.
std::int64_t rotated_ns = 0;

/// All objects of that load to the next PE.
std::vector<balancing::move> rotate(const balancing::snapshot& of) {
  std::vector<balancing::move> moves;
  const auto pes = static_cast<std::int32_t>(of.pes.size());
  for (std::uint32_t object = 0; object < of.objects.size(); ++object)
    if (of.objects[object].load_ns == rotated_ns && pes > 1)
      moves.push_back({object, of.objects[object].pe, (of.objects[object].pe + 1) % pes});
  return moves;
}

balance_report balance_by(const char* strategy) {
  balance_options options;
  options.strategy = strategy;
  return tri::balance(options).get();
}

std::string error_of(const balance_options& options) {
  try {
    static_cast<void>(tri::balance(options).get());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

void rotate_those_of(std::int64_t load_ns) {
  rotated_ns = load_ns;
  wanted = &rotate;
}

struct worker : array_element<worker, index<1>> {
  std::int64_t injected_ns = 0;
  std::int64_t said_load_ns = -1;
  std::string notes;
  int moves = 0, after = 0;

  // Computes for so long, by the clock of its thread.
  void compute(int us) {
    const std::int64_t begin = cpu_ns();
    volatile std::uint64_t value = 1;
    while (cpu_ns() - begin < std::int64_t{us} * 1000)
      for (int i = 0; i < 200; ++i) value = value * 3 + 1;
    injected_ns += cpu_ns() - begin;
  }
  task<> compute_later(int us) {
    co_await tri::after(std::chrono::microseconds(50));
    compute(us);
  }
  void compute_by_index() { compute(100 + 300 * (this_index()[0] % 4 == 0)); }
  std::int64_t injected() { return std::exchange(injected_ns, 0); }
  int where() { return this_pe(); }
  int moved() { return moves; }
  void on_migrated() { ++moves; }
  void says(std::int64_t load) { said_load_ns = load; }
  void note(std::string text) { notes += text; }
  std::string noted() { return notes; }
  void describe_load(load_description& load) {
    if (said_load_ns >= 0) load.load_ns(said_load_ns);
    if (!notes.empty()) load.user_data(std::as_bytes(std::span(notes)));
  }
  void erase() { erase_this(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(injected_ns, said_load_ns, notes, moves, after);
  }
};

void set_loads(const array<worker>& workers, int count, std::int64_t (*of)(int)) {
  std::vector<future<void>> set;
  for (int i = 0; i < count; ++i) set.push_back(workers(i).call<&worker::says>(of(i)));
  for (auto& each : set) each.get();
}

// ---- what is measured

/// Of the case that computes; the others are far below or above.
bool is_computed(std::int64_t load_ns) { return load_ns > 1'000'000 && load_ns < heavy_ns; }

void measured_time_is_injected_time() {
  check(objects::running_load_meter != nullptr, "loads are not measured");
  constexpr int n = 24;
  const auto workers = make_array<worker>({n});
  wanted = nullptr;
  static_cast<void>(balance_by("as_wanted"));  // from here on
  for (int i = 0; i < n; ++i) {
    workers(i).send<&worker::compute>(2000 + 400 * (i % 5));
    workers(i).send<&worker::compute_later>(1500);
  }
  quiescence().get();
  workers.broadcast<&worker::compute_by_index>();
  quiescence().get();
  const balance_report report = balance_by("as_wanted");
  check_equal(report.moved, std::int64_t{0});
  int found = 0;
  std::int64_t all = 0, all_injected = 0;
  for (const auto& object : seen.objects) {
    if (!is_computed(object.load_ns)) continue;
    ++found;
    all += object.load_ns;
  }
  check_equal(found, n);
  std::vector<std::int64_t> injected;
  for (int i = 0; i < n; ++i) injected.push_back(workers(i).call<&worker::injected>().get());
  for (const std::int64_t each : injected) all_injected += each;
  check(std::abs(all - all_injected) * 10 < all_injected,
        "measured " + std::to_string(all) + " ns of " + std::to_string(all_injected));
  // Elements of the snapshot are in order of their PEs, and then of their numbers: as those of an array by blocks.
  std::size_t index = 0;
  for (const auto& object : seen.objects) {
    if (!is_computed(object.load_ns)) continue;
    const std::int64_t expected_ns = injected[index++];
    check(std::abs(object.load_ns - expected_ns) * 10 < expected_ns,
          "element " + std::to_string(index - 1) + ": measured " + std::to_string(object.load_ns) + " ns of " +
              std::to_string(expected_ns));
  }
}

struct talker : array_element<talker, index<1>> {
  void hear(std::array<char, 100>) {}
  void talk(int messages) {
    for (int i = 0; i < messages; ++i)
      this_array()((this_index()[0] + 1) % 5).template send<&talker::hear>(std::array<char, 100>{});
  }
  template <class Archive>
  void serialize(Archive&) {}
};

void traffic_is_counted_by_pair() {
  const auto talkers = make_array<talker>({5});
  wanted = nullptr;
  static_cast<void>(balance_by("as_wanted"));
  for (int i = 0; i < 5; ++i) talkers(i).send<&talker::talk>(10 + i);
  quiescence().get();
  static_cast<void>(balance_by("as_wanted"));
  check_equal(seen.traffic.size(), std::size_t{5});
  std::multimap<std::int64_t, std::int64_t> bytes_by_messages;
  for (const auto& pair : seen.traffic) bytes_by_messages.emplace(pair.messages, pair.bytes);
  for (int i = 0; i < 5; ++i) {
    const auto found = bytes_by_messages.find(10 + i);
    check(found != bytes_by_messages.end(), "a pair is missing");
    check_equal(found->second, std::int64_t{100} * (10 + i));
  }
}

void elements_describe_themselves() {
  constexpr int n = 6;
  const auto workers = make_array<worker>({n});
  for (int i = 0; i < n; ++i) workers(i).send<&worker::note>(std::string(static_cast<std::size_t>(i), 'u'));
  set_loads(workers, n, [](int i) { return std::int64_t{7000} + i; });
  wanted = nullptr;
  static_cast<void>(balance_by("as_wanted"));
  int found = 0;
  for (std::uint32_t object = 0; object < seen.objects.size(); ++object) {
    const std::int64_t number = seen.objects[object].load_ns - 7000;
    if (number < 0 || number >= n) continue;
    ++found;
    check_equal(seen.user_data_of(object).size(), static_cast<std::size_t>(number));
    for (const std::byte each : seen.user_data_of(object)) check(each == std::byte{'u'}, "other bytes");
  }
  check_equal(found, n);
  const std::string text = load_snapshot().get();
  check(text.find("trireme load snapshot") != std::string::npos, "no snapshot: " + text.substr(0, 200));
}

// ---- what moves

std::vector<int> places_of(const array<worker>& workers, int n) {
  std::vector<int> places;
  for (int i = 0; i < n; ++i) places.push_back(workers(i).call<&worker::where>().get());
  return places;
}

void imbalance_is_removed() {
  constexpr int n = 16;
  const auto workers = make_array<worker>({n}, placed_by<index<1>>([](const index<1>&, int) { return 0; }));
  set_loads(workers, n, [](int) { return std::int64_t{1'000'000'000}; });
  const balance_report report = balance_by("greedy");
  check_equal(report.strategy, std::string("greedy"));
  check_equal(report.waiting + report.withdrawn, std::int64_t{0});
  std::vector<int> count(static_cast<std::size_t>(pe_count()));
  for (const int pe : places_of(workers, n)) ++count[static_cast<std::size_t>(pe)];
  for (const int each : count) {
    check(each >= n / pe_count() && each <= (n + pe_count() - 1) / pe_count(),
          std::to_string(each) + " elements on a PE");
  }
  check(report.predicted_ns <= report.longest_ns && report.level_ns <= report.predicted_ns, "a longer makespan");
  if (pe_count() > 1) check(report.moved >= n - n / pe_count() - 1, "too few have moved");
  set_loads(workers, n, [](int) { return std::int64_t{0}; });
}

void moves_are_carried_out() {
  constexpr int n = 12;
  const auto workers = make_array<worker>({n});
  for (int i = 0; i < n; ++i) workers(i).send<&worker::note>(std::to_string(i));
  set_loads(workers, n, [](int) { return 2 * heavy_ns; });
  quiescence().get();
  rotate_those_of(2 * heavy_ns);
  constexpr int rounds = 4;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<int> before = places_of(workers, n);
    const balance_report report = balance_by("as_wanted");
    check(pe_count() > 1 ? report.moved >= n : report.moved == 0, "not all have moved");
    const std::vector<int> places = places_of(workers, n);
    for (int i = 0; i < n; ++i)
      check_equal(places[static_cast<std::size_t>(i)], (before[static_cast<std::size_t>(i)] + 1) % pe_count());
  }
  for (int i = 0; i < n; ++i) {
    check_equal(workers(i).call<&worker::noted>().get(), std::to_string(i));
    check_equal(workers(i).call<&worker::moved>().get(), pe_count() > 1 ? rounds : 0);
  }
  wanted = nullptr;
  set_loads(workers, n, [](int) { return std::int64_t{0}; });
}

void fast_pes_get_heavy_elements() {
  check_equal(pe_count(), 2);
  const auto workers = make_array<worker>({3});
  set_loads(workers, 3, [](int i) { return std::int64_t{i == 1 ? 14'000'000'000 : 5'000'000'000}; });
  const balance_report report = balance_by("greedy");
  check_equal(workers(1).call<&worker::where>().get(), 1);
  check_equal(workers(0).call<&worker::where>().get(), 0);
  check_equal(workers(2).call<&worker::where>().get(), 0);
  check(report.predicted_ns < 10.3e9 && report.predicted_ns > 9.9e9, std::to_string(report.predicted_ns));
}

// With several hosts each of them decides its part, in other processes; what was heavy before is deleted first.
void spread_by_distributed_strategies() {
  for (const char* const strategy : {"hierarchy", "gossip"}) {
    const int n = 8 * pe_count();
    const auto workers = make_sparse_array<worker>();
    for (int i = 0; i < n; ++i) workers.insert_on(0, i);
    quiescence().get();
    for (int i = 0; i < n; ++i) workers(i).call<&worker::says>(100 * heavy_ns).get();
    for (int round = 0; round < 3; ++round) {
      const balance_report report = balance_by(strategy);
      check_equal(report.strategy, std::string(strategy));
      check_equal(report.waiting + report.withdrawn, std::int64_t{0});
      check(report.predicted_ns <= report.longest_ns, "a longer makespan");
      check(report.objects >= n, "elements are missing");
      if (round == 0 && pe_count() > 1) check(report.moved > 0, "none has moved");
    }
    std::vector<int> count(static_cast<std::size_t>(pe_count()));
    for (const int pe : places_of(workers, n)) ++count[static_cast<std::size_t>(pe)];
    for (const int each : count) check(each <= 16, std::to_string(each) + " of " + std::to_string(n) + " on a PE");
    for (int i = 0; i < n; ++i) workers(i).send<&worker::erase>();
    quiescence().get();
  }
}

// ---- periods

void periods_move_elements() {
  check(pe_count() > 1, "there is no other PE");
  constexpr int n = 8;
  const auto workers = make_array<worker>({n}, placed_by<index<1>>([](const index<1>&, int) { return 0; }));
  int moved = 0;
  while (moved == 0) {  // until the test's time is over
    for (int i = 0; i < n; ++i) workers(i).send<&worker::compute>(200);
    quiescence().get();  // periods do not count as messages
    for (int i = 0; i < n; ++i) moved += workers(i).call<&worker::moved>().get();
  }
}

void a_stall_is_reported() {
  future<int> never;
  static_cast<void>(never.get_promise());
  static_cast<void>(never.get());
}

// ---- calls of all elements

struct stepper : array_element<stepper, index<1>> {
  int step = 0, steps = 0, moves = 0;
  callback<int> done;
  void run(int wanted_steps, callback<int> when_done) {
    steps = wanted_steps;
    done = when_done;
    go_on();
  }
  void go_on() {
    check_equal(step <= steps, true);
    if (step++ == steps) return contribute(moves, sum, done);
    balance_then<&stepper::go_on>();
  }
  void on_migrated() { ++moves; }
  void describe_load(load_description& load) { load.load_ns(4 * heavy_ns); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(step, steps, moves, done);
  }
};

void all_elements_call_and_go_on() {
  constexpr int n = 12, steps = 5;
  rotate_those_of(4 * heavy_ns);
  const auto steppers = make_array<stepper>({n});
  future<int> moves;
  steppers.broadcast<&stepper::run>(steps, callback<int>(moves.get_promise()));
  const int made = moves.get();
  check_equal(made, pe_count() > 1 ? n * steps : 0);
  wanted = nullptr;
}

struct coroutine_stepper : array_element<coroutine_stepper, index<1>> {
  int steps_made = 0;
  std::string text = "kept";
  task<> run(int steps, callback<int> done) {
    for (int step = 0; step < steps; ++step) {
      co_await balance();
      ++steps_made;
      check_equal(text, std::string("kept"));
    }
    contribute(steps_made, sum, done);
  }
  void describe_load(load_description& load) { load.load_ns(8 * heavy_ns); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(steps_made, text);
  }
};

void coroutines_wait_for_the_balancing() {
  constexpr int n = 12, steps = 4;
  rotate_those_of(8 * heavy_ns);
  const auto steppers = make_array<coroutine_stepper>({n});
  future<int> made;
  steppers.broadcast<&coroutine_stepper::run>(steps, callback<int>(made.get_promise()));
  check_equal(made.get(), n * steps);
  wanted = nullptr;
}

// ---- elements that cannot, or not any more

struct waiting_one : array_element<waiting_one, index<1>> {
  int moves = 0;
  task<int> wait_for(future<int> value) { co_return co_await std::move(value); }
  task<int> ask(element_ref<waiting_one> other) { co_return co_await other.call<&waiting_one::answer>(); }
  task<int> answer() {
    co_await when<&waiting_one::release>();
    co_return 5;
  }
  void release() {}
  void on_migrated() { ++moves; }
  int moved() { return moves; }
  void describe_load(load_description& load) { load.load_ns(16 * heavy_ns); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(moves);
  }
};

void elements_that_wait_go_later() {
  if (pe_count() < 2) return;
  const int n = pe_count();
  const auto all = make_array<waiting_one>({n});
  // Element 0 waits for an answer of element 1, which waits for a message.
  auto answer = all(0).call<&waiting_one::ask>(all(1));
  quiescence().get();  // both wait by now
  rotate_those_of(16 * heavy_ns);
  const balance_report report = balance_by("as_wanted");
  check(report.waiting >= 1, "none had to wait");
  all(1).send<&waiting_one::release>();
  check_equal(answer.get(), 5);
  quiescence().get();
  for (int i = 0; i < n; ++i) check_equal(all(i).call<&waiting_one::moved>().get(), 1);
  wanted = nullptr;
}

void deleted_elements_are_withdrawn() {
  const int n = 4 * pe_count();
  const auto workers = make_array<worker>({n});
  for (int i = 0; i < n; ++i) workers(i).call<&worker::says>(32 * heavy_ns).get();
  rotated_ns = 32 * heavy_ns;
  // Messages of this PE keep their order: the elements are deleted before their PEs are asked to move them.
  wanted = [&](const balancing::snapshot& of) {
    for (int i = 0; i < n; i += 2) workers(i).send<&worker::erase>();
    return rotate(of);
  };
  const balance_report report = balance_by("as_wanted");
  check_equal(report.withdrawn, std::int64_t{pe_count() > 1 ? n / 2 : 0});
  wanted = nullptr;
  for (int i = 1; i < n; i += 2) workers(i).call<&worker::says>(std::int64_t{0}).get();
}

// ---- what makes no sense

void nonsense_is_refused() {
  const auto workers = make_array<worker>({4});
  set_loads(workers, 4, [](int) { return heavy_ns; });
  balance_options options;
  options.strategy = "greedi";
  check(error_of(options).find("there is no balancing strategy 'greedi'") != std::string::npos, error_of(options));
  options.strategy = "as_wanted";
  const auto fails_with = [&](balancing::move one, const char* text) {
    wanted = [one](const balancing::snapshot&) { return std::vector<balancing::move>{one}; };
    check(error_of(options).find(text) != std::string::npos, error_of(options));
  };
  fails_with({1'000'000, 0, 0}, "object 1000000");
  fails_with({0, 0, 4096}, "4096");
  fails_with({0, 0, -1}, "-1");
  wanted = [](const balancing::snapshot&) -> std::vector<balancing::move> { throw std::runtime_error("no wish"); };
  check(error_of(options).find("no wish") != std::string::npos, error_of(options));
  wanted = nullptr;
  for (int i = 0; i < 4; ++i) check_equal(workers(i).call<&worker::moved>().get(), 0);
  set_loads(workers, 4, [](int) { return std::int64_t{0}; });
  options.strategy = "off";
  check_equal(tri::balance(options).get().strategy, std::string());
}

struct asker : array_element<asker, index<1>> {
  task<std::string> ask() {
    co_await tri::balance();
    const balance_report report = co_await tri::balance({.strategy = "greedy"});
    co_return report.strategy;
  }
};

// As the documents write it.
void calls_are_awaited() {
  const auto askers = make_array<asker>({1});
  check_equal(askers(0).call<&asker::ask>().get(), std::string("greedy"));
}

struct member : group_member<member> {};

void members_of_groups_stay() {
  const auto members = make_group<member>();
  static_cast<void>(members);
  wanted = [](const balancing::snapshot& of) {
    std::size_t fixed = 0;
    for (const auto& object : of.objects) fixed += object.is_migratable ? 0 : 1;
    check(fixed >= of.pes.size(), "members of groups could migrate");
    return std::vector<balancing::move>{};
  };
  static_cast<void>(balance_by("as_wanted"));
  wanted = nullptr;
}

// ---- many calls at once, among other messages

struct counted : array_element<counted, index<1>> {
  std::map<int, int> next;  // number of the next message by sender
  std::int64_t received = 0;
  void hit(int from, int number) {
    check_equal(next[from]++, number);
    ++received;
  }
  std::int64_t count() { return received; }
  void describe_load(load_description& load) { load.load_ns(0); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(next, received);
  }
};
struct source : group_member<source> {
  std::mt19937 random{static_cast<unsigned>(this_pe() + 17)};
  std::map<int, int> numbers;
  void shoot(array<counted> targets, int n, int left) {
    for (int i = 0; i < 20; ++i) {
      const int to = static_cast<int>(random() % static_cast<unsigned>(n));
      targets(to).send<&counted::hit>(this_pe(), numbers[to]++);
    }
    if (left > 0) this_element().send<&source::shoot>(targets, n, left - 1);
  }
};

void messages_stay_in_order() {
  constexpr int n = 24, turns = 60;
  const auto targets = make_array<counted>({n});
  const auto sources = make_group<source>();
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    auto random = std::make_shared<std::mt19937_64>(seed);
    wanted = [random](const balancing::snapshot& of) {
      std::vector<balancing::move> moves;
      for (std::uint32_t object = 0; object < of.objects.size(); ++object) {
        const auto to = static_cast<std::int32_t>((*random)() % of.pes.size());
        if (of.objects[object].is_migratable && of.objects[object].load_ns == 0 && to != of.objects[object].pe)
          moves.push_back({object, of.objects[object].pe, to});
      }
      return moves;
    };
    sources.broadcast<&source::shoot>(targets, n, turns - 1);
    std::vector<future<balance_report>> calls;
    for (int i = 0; i < 12; ++i) {
      balance_options options;
      options.strategy = "as_wanted";
      calls.push_back(tri::balance(options));
      if (i % 4 == 3) static_cast<void>(calls.back().get());
    }
    for (auto& each : calls)
      if (!each.ready()) static_cast<void>(each.get());
    quiescence().get();
  }
  std::int64_t all = 0;
  for (int i = 0; i < n; ++i) all += targets(i).call<&counted::count>().get();
  check_equal(all, std::int64_t{3} * turns * 20 * pe_count());
  wanted = nullptr;
}

#define TRIREME_CASE(name) const case_entry name##_case{#name, &name};
TRIREME_CASE(measured_time_is_injected_time)
TRIREME_CASE(traffic_is_counted_by_pair)
TRIREME_CASE(elements_describe_themselves)
TRIREME_CASE(imbalance_is_removed)
TRIREME_CASE(moves_are_carried_out)
TRIREME_CASE(all_elements_call_and_go_on)
TRIREME_CASE(coroutines_wait_for_the_balancing)
TRIREME_CASE(spread_by_distributed_strategies)
TRIREME_CASE(elements_that_wait_go_later)
TRIREME_CASE(deleted_elements_are_withdrawn)
TRIREME_CASE(nonsense_is_refused)
TRIREME_CASE(calls_are_awaited)
TRIREME_CASE(members_of_groups_stay)
TRIREME_CASE(messages_stay_in_order)
#undef TRIREME_CASE
// With options of their own.
const case_entry speeds_case{"only_fast_pes_get_heavy_elements", &fast_pes_get_heavy_elements};
const case_entry periods_case{"only_periods_move_elements", &periods_move_elements};
const case_entry stall_case{"only_a_stall_is_reported", &a_stall_is_reported};

}  // namespace
}  // namespace tri::testing
