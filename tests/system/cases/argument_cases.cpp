// What arguments may be, how they travel, and in which order messages run.
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include "config/configuration.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct custom {
  int number = 0;
  std::string text;
  std::vector<custom> children;
  bool operator==(const custom&) const = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, text, children);
  }
};
struct plain_big {
  double values[100];
};
struct move_only {  // without serialize: for its process only
  explicit move_only(int v) : value(std::make_unique<int>(v)) {}
  std::unique_ptr<int> value;
};
struct not_serializable {
  explicit not_serializable(int v) : text(std::to_string(v)) {}
  std::string text;
};

struct target : group_member<target> {
  std::string text(const std::string& a, std::string&& b, std::string c) { return a + b + c; }
  std::vector<int> vector(std::vector<int> v) {
    std::reverse(v.begin(), v.end());
    return v;
  }
  std::map<std::string, std::set<int>> map(std::map<std::string, std::set<int>> m) {
    m["added"] = {1};
    return m;
  }
  custom tree(custom value) {
    value.children.push_back(value);
    return value;
  }
  std::optional<int> optional(std::optional<int> o, std::variant<int, std::string> v) {
    return o.has_value() && v.index() == 1 ? o : std::nullopt;
  }
  double big(plain_big values, int which) { return values.values[which]; }
  int unique(std::unique_ptr<int> p) { return *p + 1; }
  int moved(move_only m) { return *m.value; }
  std::string local(local_only<not_serializable> kept) { return kept.value.text; }
  void nothing() {}
  int many(char a, short b, int c, long d, float e, double f, bool g) {
    return a + b + c + static_cast<int>(d) + static_cast<int>(e) + static_cast<int>(f) + g;
  }
};

void arguments() {
  auto group = make_group<target>();
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto there = group[pe];
    const std::string kept = "an lvalue string of more than thirty-two bytes";
    check_equal(there.call<&target::text>(kept, std::string("moved"), "literal").get(), kept + "moved" + "literal");
    check(there.call<&target::vector>(std::vector<int>{1, 2, 3}).get() == std::vector<int>{3, 2, 1}, "vector");
    check_equal(there.call<&target::vector>(std::vector<int>(100000, 7)).get().size(), std::size_t{100000});
    const auto map = there.call<&target::map>(std::map<std::string, std::set<int>>{{"a", {3, 4}}}).get();
    check(map.at("a") == std::set<int>{3, 4} && map.at("added") == std::set<int>{1}, "map");
    custom value{1, "one", {{2, "two", {}}}};
    custom twice = value;
    twice.children.push_back(value);
    check(there.call<&target::tree>(value).get() == twice, "custom type");
    check(there.call<&target::optional>(std::optional<int>(4), std::variant<int, std::string>("x")).get() == 4,
          "optional");
    plain_big big{};
    big.values[99] = 0.25;
    check_equal(there.call<&target::big>(big, 99).get(), 0.25);
    check_equal(there.call<&target::unique>(std::make_unique<int>(41)).get(), 42);
    there.call<&target::nothing>().get();
    check_equal(there.call<&target::many>('\1', short{2}, 3, 4L, 5.0f, 6.0, true).get(), 22);
    if (pe / pes_per_process() == this_process()) {
      check_equal(there.call<&target::moved>(move_only(7)).get(), 7);
      check_equal(there.call<&target::local>(local_only<not_serializable>{not_serializable(8)}).get(), "8");
    } else {
      check_throws<std::runtime_error>(
          [&] { there.send<&target::moved>(move_only(7)); },
          "cannot be sent to another process: it is neither plain data nor has it a serialize function");
      check_throws<std::runtime_error>(
          [&] { there.send<&target::local>(local_only<not_serializable>{not_serializable(8)}); },
          "cannot be sent to another process");
      check_throws<std::runtime_error>([&] { there.send<&target::moved>(move_only(7)); },
                                       "an argument of type tri::testing::");
    }
  }
  quiescence().get();
}
const case_entry arguments_case{"arguments", &arguments};

// ---- buffers

struct holder : group_member<holder> {
  buffer<double> kept;
  std::uint64_t fill(int step, buffer<double> data) {
    for (double& value : data) value += step;
    kept = std::move(data);
    return reinterpret_cast<std::uint64_t>(kept.data());
  }
  buffer<double> give() { return std::move(kept); }
  std::uint64_t read(shared_buffer<int> data) {
    check_equal(data[data.size() - 1], 17);
    return reinterpret_cast<std::uint64_t>(data.data());
  }
  int ends(buffer<double> data) { return static_cast<int>(data[0] + data[data.size() - 1]); }
  std::uint64_t bytes_copied() { return sched::this_pe().counters().bytes_copied.read(); }
};

void buffers() {
  auto group = make_group<holder>();
  constexpr std::size_t size = 1 << 20;
  const std::uint64_t before = group.reduce<&holder::bytes_copied>(sum).get();
  buffer<double> data(size, 1.0);
  const sched::runtime& job = sched::this_pe().job();
  for (int pe = 0; pe < pe_count(); ++pe) {
    const auto address = reinterpret_cast<std::uint64_t>(data.data());
    const std::uint64_t there = group[pe].call<&holder::fill>(1, std::move(data)).get();
    check(data.empty(), "a moved buffer is not empty");
    data = group[pe].call<&holder::give>().get();
    if (job.is_on_own_host(pe)) {
      check_equal(there, address);
      check_equal(reinterpret_cast<std::uint64_t>(data.data()), address);
    }
    check_equal(data.size(), size);
    check_equal(data[size - 1], 2.0 + pe);
  }
  const shared_buffer<int> shared(buffer<int>(1000000, 17));
  const auto seen = group.reduce<&holder::read>(gather, shared).get();
  check_equal(static_cast<int>(seen.size()), pe_count());
  for (int pe = 0; pe < pe_count(); ++pe)
    if (job.is_on_own_host(pe))
      check_equal(seen[static_cast<std::size_t>(pe)], reinterpret_cast<std::uint64_t>(shared.data()));
  if (job.hosts() > 1) return;
  const std::uint64_t copied = group.reduce<&holder::bytes_copied>(sum).get() - before;
  check(copied < 20000, fmt::format("{} bytes were copied to pass buffers of {} bytes", copied, size * sizeof(double)));
}
const case_entry buffers_case{"buffers", &buffers};

// A message of more than 2 GiB; only a few of its pages are touched. To another host it would have to be copied.
void huge_buffer() {
  const sched::runtime& job = sched::this_pe().job();
  constexpr std::size_t bytes = (std::size_t{22} << 30) / 10;
  auto group = make_group<holder>();
  try {
    buffer<double> data(bytes / sizeof(double));
    data[0] = 1;
    data[data.size() - 1] = 2;
    check_equal(group[job.pes_of_host() - 1].call<&holder::ends>(std::move(data)).get(), 3);
  } catch (const arena::arena_exhausted& error) {
    fmt::print("(skipped: {}) ", error.what());
  }
}
const case_entry huge_case{"huge_buffer", &huge_buffer};

// ---- order

struct ordered_receiver : group_member<ordered_receiver> {
  std::vector<int> log;
  void note(int what) { log.push_back(what); }
  void note_text(int what, std::string text) { log.push_back(what + static_cast<int>(text.size())); }
  void scramble() {
    auto self = this_element();
    self.send<&ordered_receiver::note>(0);
    self.with(5).send<&ordered_receiver::note>(5);
    self.with(priority(7)).send<&ordered_receiver::note_text>(3, std::string("four"));
    self.with(-3).send<&ordered_receiver::note>(-3);
    self.with(immediate).send<&ordered_receiver::note>(-100);
    self.with(-2147483647 - 1).send<&ordered_receiver::note>(-50);
    self.with(5).send<&ordered_receiver::note>(6);  // equal priorities: in order of arrival
    self.with(immediate).send<&ordered_receiver::note>(-99);
    self.send<&ordered_receiver::note>(1);
    self.with(priority::bits({true, true})).send<&ordered_receiver::note>(103);
    self.with(priority::bits({true, true, false})).send<&ordered_receiver::note>(110);
    self.with(priority::bits({true, true, true})).send<&ordered_receiver::note>(111);
    self.with(priority::bits({true, true, false, true})).send<&ordered_receiver::note>(1101);
    self.with(priority::bits({false})).send<&ordered_receiver::note>(-60);
  }
  // More than one PE runs between two looks at other queues.
  void flood() {
    log.clear();
    auto self = this_element();
    self.with(5).send<&ordered_receiver::note>(5);
    for (int i = 0; i < plain_of_flood; ++i) self.send<&ordered_receiver::note>(0);
  }
  static constexpr int plain_of_flood = 10000;
  std::vector<int> seen() { return log; }
};

void priorities() {
  auto group = make_group<ordered_receiver>();
  for (int pe = 0; pe < pe_count(); ++pe) {
    group[pe].call<&ordered_receiver::scramble>().get();
    quiescence().get();
    const std::vector<int> expected_order{-100, -99, -60, -50, -3, 0, 1, 5, 6, 7, 103, 110, 1101, 111};
    const auto seen = group[pe].call<&ordered_receiver::seen>().get();
    check(seen == expected_order, fmt::format("order of priorities: {}", fmt::join(seen, " ")));
    group[pe].call<&ordered_receiver::flood>().get();
    quiescence().get();
    const auto after_flood = group[pe].call<&ordered_receiver::seen>().get();
    const auto first_late = std::find(after_flood.begin(), after_flood.end(), 5) - after_flood.begin();
    check_equal(static_cast<int>(first_late), ordered_receiver::plain_of_flood);
  }
  check_throws<std::length_error>([] { static_cast<void>(priority().extended(0, 100)); }, "longer than 120 bits");
}
const case_entry priorities_case{"priorities", &priorities};

struct clock_keeper : group_member<clock_keeper> {
  std::vector<int> fired;
  std::int64_t earliest = 0;
  void alarm(int which) { fired.push_back(which); }
  std::vector<int> order() { return fired; }
};
void timers() {
  using namespace std::chrono_literals;
  auto group = make_group<clock_keeper>();
  const auto start = std::chrono::steady_clock::now();
  auto last = group[pe_count() - 1];
  send_after<&clock_keeper::alarm>(3ms, last, 3);
  send_after<&clock_keeper::alarm>(1ms, last, 1);
  send_after<&clock_keeper::alarm>(0ms, last, 0);
  send_after<&clock_keeper::alarm>(2ms, last, 2);
  after(2ms).get();
  const bool is_replay = !sched::this_pe().job().values().replay.empty();  // there timers run in turn, not by the clock
  check(is_replay || std::chrono::steady_clock::now() - start >= 2ms, "after() was early");
  quiescence().get();  // a timer that waits is no quiescence
  check(is_replay || std::chrono::steady_clock::now() - start >= 3ms, "quiescence while a timer waited");
  check((last.call<&clock_keeper::order>().get() == std::vector<int>{0, 1, 2, 3}), "timers in another order");
  after(-5ms).get();
}
const case_entry timers_case{"timers", &timers};

}  // namespace
}  // namespace tri::testing
