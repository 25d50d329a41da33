// Zero-copy sends: what arrives, that nothing is copied on the way (by counters), and how both futures end when one of
// the two sides goes away first.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "sched/process_runtime.hpp"
#include "sched/remote/host_records.hpp"
#include "sched/remote/wire_link.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

double value_at(int sender, std::size_t i) { return sender * 1000.0 + static_cast<double>(i % 977); }

std::vector<double> values_of(int sender, std::size_t size) {
  std::vector<double> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = value_at(sender, i);
  return made;
}

template <class Values>
bool are_right(const Values& values, int sender, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (values[i] != value_at(sender, i)) return false;
  return values.size() >= size;
}

struct place : array_element<place, index<1>> {
  std::vector<double> own;
  zero_copy<double> kept;
  std::unique_ptr<future<void>> coming;

  task<bool> into(int sender, std::string, zero_copy<double> values) {
    const std::size_t size = values.size();
    own.assign(size + 1, -1.0);
    co_await values.into(own);
    co_return are_right(own, sender, size) && own[size] == -1.0 && values.size() == 0;
  }
  task<bool> get(int sender, zero_copy<double> values) {
    const std::size_t size = values.size();
    const buffer<double> came = co_await values.get();
    co_return came.size() == size&& are_right(came, sender, size);
  }
  /// Sends to another element, and says whether that got it; the memory is changed as soon as it may be.
  task<bool> give(element_ref<place> to, std::uint64_t size, bool to_own_memory) {
    const int me = this_index()[0];
    std::vector<double> mine = values_of(me, size);
    exposure<double> exposed = expose(std::span<const double>(mine));
    future<bool> right = to_own_memory ? to.call<&place::into>(me, "a string", std::move(exposed.memory))
                                       : to.call<&place::get>(me, std::move(exposed.memory));
    co_await exposed.reusable;
    std::fill(mine.begin(), mine.end(), -2.0);
    co_return co_await right;
  }
  void ignore(zero_copy<double>) {}
  void keep(zero_copy<double> values) { kept = std::move(values); }
  void let_go() { kept = {}; }
  std::uint64_t kept_size() { return kept.size(); }
  task<std::string> receive_kept(int sender) {
    const std::size_t size = kept.size();
    own.assign(size, -1.0);
    try {
      co_await kept.into(own);
    } catch (const zero_copy_error& error) {
      co_return error.what();
    }
    co_return are_right(own, sender, size) ? "right" : "wrong";
  }
  void begin_kept() {
    own.assign(kept.size(), -1.0);
    coming = std::make_unique<future<void>>(kept.into(own));
  }
  void drop_coming() {
    coming.reset();
    own = {};  // the memory goes at once
  }
  task<bool> finish_coming(int sender) {
    co_await *coming;
    co_return are_right(own, sender, own.size());
  }
  // To those of another PE of the process: a future that was made on PE 0 ends there.
  std::unique_ptr<exposure<double>> given;
  void expose_own(element_ref<place> to, std::uint64_t size) {
    own = values_of(0, size);
    given = std::make_unique<exposure<double>>(expose(std::span<const double>(own)));
    to.send<&place::keep>(std::move(given->memory));
  }
  void take_back(element_ref<place> from) {
    given.reset();
    std::ranges::fill(own, -2.0);
    from.send<&place::note_receipt>();
  }
  task<> note_receipt();
  void drop_coming_only() {
    coming.reset();
    std::ranges::fill(own, -3.0);
    std::atomic_ref(*noted).store(1);
  }
  bool is_untouched() const {
    return std::ranges::all_of(own, [](double value) { return value == -3.0; });
  }
  void hold(std::uint64_t flag) const {
    const std::atomic_ref word(*reinterpret_cast<int*>(flag));
    word.store(1);
    while (word.load() == 1) std::this_thread::yield();
  }
  void report(std::uint64_t flag) const { std::atomic_ref(*reinterpret_cast<int*>(flag)).store(3); }
  static inline int* noted = nullptr;
  static inline std::string said;
  void end() { erase_this(); }
  void go(int pe) { migrate_to(pe); }
  int where() { return this_pe(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(own, kept);
  }
};

task<> place::note_receipt() {
  said = co_await receive_kept(0);
  std::atomic_ref(*noted).store(1);
}

bool on_another_host(int pe) { return !sched::this_pe().job().is_on_own_host(pe); }
bool has_wire() { return sched::this_pe().job().hosts() > 1; }

array<place> on_each_pe() {
  auto all = make_array<place>({pe_count()}, round_robin());
  quiescence().get();
  return all;
}

void zero_copy_arrives() {
  auto all = on_each_pe();
  for (const std::uint64_t size : {0, 1, 100, 1000, 20'000, 300'000})
    for (int from = 0; from < pe_count(); ++from)
      for (int to = 0; to < pe_count(); ++to)
        for (const bool to_own_memory : {false, true})
          check(all(from).call<&place::give>(all(to), size, to_own_memory).get(), "other values arrived");
}
const case_entry arrives_case{"zero_copy_arrives", &zero_copy_arrives};

struct counted : group_member<counted> {
  using figures = std::array<std::uint64_t, 6>;
  figures all() {
    const sched::pe& here = sched::this_pe();
    const sched::counter_block& counters = here.counters();
    const auto* const wire = static_cast<const sched::process_runtime&>(here.job()).wire();
    const std::uint64_t announced = here.local_number() == 0 && wire != nullptr ? wire->counters().rendezvous_sent : 0;
    return {counters.bytes_copied.read(),
            counters.zero_copy_bytes_sent.read(),
            counters.zero_copy_bytes_received.read(),
            counters.zero_copy_bytes_read.read(),
            counters.zero_copy_bytes_staged.read(),
            announced};
  }
};

void zero_copy_copies_nothing() {
  auto all = on_each_pe();
  auto pes = make_group<counted>();
  const auto total = [&] {
    quiescence().get();
    counted::figures sums{};
    for (const auto& one : pes.reduce<&counted::all>(gather).get())
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += one[i];
    return sums;
  };
  constexpr std::uint64_t size = 300'000, bytes = size * sizeof(double);
  const bool reads = sched::this_pe().job().values().kernel_copies;
  for (int to = 0; to < pe_count(); ++to)
    for (const bool to_own_memory : {false, true}) {
      const auto before = total();
      check(all(0).call<&place::give>(all(to), size, to_own_memory).get(), "other values arrived");
      auto used = total();
      for (std::size_t i = 0; i < used.size(); ++i) used[i] -= before[i];
      check(used[0] < 8192, fmt::format("{} bytes of arguments were copied", used[0]));
      const bool remote = on_another_host(to);
      const bool staged = !remote && to / pes_per_process() != 0 && !reads;
      check_equal(used[1], remote ? bytes : 0);
      check_equal(used[2], remote ? bytes : 0);
      check_equal(used[3], remote || staged ? 0 : bytes);
      check_equal(used[4], staged ? bytes : 0);
      check_equal(used[5], remote ? 1U : 0U);
    }
}
const case_entry copies_nothing_case{"zero_copy_copies_nothing", &zero_copy_copies_nothing};

void zero_copy_from_the_arena_is_read_there() {
  auto all = on_each_pe();
  const auto mine = buffer<double>::copy_of(values_of(0, 5000));
  for (int to = 0; to < pe_count(); ++to) {
    auto exposed = expose(std::span<const double>(mine));
    check(all(to).call<&place::get>(0, std::move(exposed.memory)).get(), "other values arrived");
    exposed.reusable.get();
  }
}
const case_entry arena_case{"zero_copy_from_the_arena", &zero_copy_from_the_arena_is_read_there};

void zero_copy_that_is_not_received() {
  auto all = on_each_pe();
  const auto mine = values_of(0, 3000);
  for (int to = 0; to < pe_count(); ++to) {
    auto exposed = expose(std::span(mine));
    all(to).send<&place::ignore>(std::move(exposed.memory));
    check_throws<zero_copy_error>([&] { exposed.reusable.get(); }, "memory of 24000 bytes was not received");
    exposed = expose(std::span(mine));
    all(to).send<&place::keep>(std::move(exposed.memory));
    check_equal(all(to).call<&place::kept_size>().get(), 3000U);
    check(!exposed.reusable.ready(), "it was received already");
    all(to).send<&place::let_go>();
    check_throws<zero_copy_error>([&] { exposed.reusable.get(); }, "was not received");
  }
  {
    auto exposed = expose(std::span(mine));
    { const zero_copy<double> never_sent = std::move(exposed.memory); }
    check_throws<zero_copy_error>([&] { exposed.reusable.get(); }, "was not received");
  }
  // With an element, and with a call that no element takes.
  for (int to = 0; to < pe_count(); ++to) {
    auto one = make_array<place>({1})(0);
    one.send<&place::go>(to);
    quiescence().get();
    auto exposed = expose(std::span(mine));
    one.send<&place::keep>(std::move(exposed.memory));
    one.send<&place::end>();
    check_throws<zero_copy_error>([&] { exposed.reusable.get(); }, "was not received");
    exposed = expose(std::span(mine));
    auto answer = one.call<&place::get>(0, std::move(exposed.memory));
    check_throws<remote_error>([&] { answer.get(); }, "which was deleted");
    check_throws<zero_copy_error>([&] { exposed.reusable.get(); }, "was not received");
  }
}
const case_entry unread_case{"zero_copy_that_is_not_received", &zero_copy_that_is_not_received};

void zero_copy_that_is_withdrawn() {
  auto all = on_each_pe();
  for (int to = 0; to < pe_count(); ++to) {
    auto mine = std::make_unique<std::vector<double>>(values_of(0, 3000));
    auto exposed = std::make_unique<exposure<double>>(expose(std::span(*mine)));
    all(to).send<&place::keep>(std::move(exposed->memory));
    quiescence().get();
    exposed.reset();
    mine.reset();
    const std::string said = all(to).call<&place::receive_kept>(0).get();
    check(said.find("PE 0 has withdrawn its memory of 24000 bytes") != std::string::npos, said);
  }
}
const case_entry withdrawn_case{"zero_copy_that_is_withdrawn", &zero_copy_that_is_withdrawn};

void zero_copy_with_wrong_calls() {
  const auto mine = values_of(0, 10);
  std::vector<double> small(9), room(10);
  auto exposed = expose(std::span(mine));
  check_throws<std::length_error>([&] { static_cast<void>(exposed.memory.into(small)); },
                                  "there is room for 9 elements, and 10 were exposed");
  exposed.memory.into(room).get();
  check(room == mine, "other values arrived");
  exposed.reusable.get();
  check_throws<std::logic_error>([&] { static_cast<void>(exposed.memory.into(room)); }, "it refers to no memory");
  zero_copy<double> nothing;
  check_throws<std::logic_error>([&] { static_cast<void>(nothing.get()); }, "it refers to no memory");
}
const case_entry wrong_calls_case{"zero_copy_with_wrong_calls", &zero_copy_with_wrong_calls};

// The reference follows its element, from host to host and back; the transfer goes to where it is in the end.
void zero_copy_follows_an_element() {
  auto one = make_array<place>({1})(0);
  const auto mine = values_of(3, 50'000);
  for (int first = 0; first < pe_count(); ++first)
    for (int second = 0; second < pe_count(); ++second) {
      auto exposed = expose(std::span(mine));
      one.send<&place::go>(first);
      one.send<&place::keep>(std::move(exposed.memory));
      one.send<&place::go>(second);
      quiescence().get();
      check_equal(one.call<&place::where>().get(), second);
      auto said = one.call<&place::receive_kept>(3);
      one.send<&place::go>(first);  // waits for what is under way, or goes afterwards
      check_equal(said.get(), "right");
      exposed.reusable.get();
    }
}
const case_entry follows_case{"zero_copy_follows_an_element", &zero_copy_follows_an_element};

// Memory goes on either side at any moment of a transfer: nothing is written or read later (an allocator that looks for
// errors, and the sanitizers, would see it), and each future ends.
void zero_copy_ends_at_any_moment() {
  auto all = on_each_pe();
  std::mt19937 random(7);
  int received = 0, refused = 0;
  for (int round = 0; round < 200; ++round) {
    const int to = static_cast<int>(random() % static_cast<unsigned>(pe_count()));
    auto mine = std::make_unique<std::vector<double>>(values_of(1, 1 + random() % 40'000));
    auto exposed = std::make_unique<exposure<double>>(expose(std::span(*mine)));
    all(to).send<&place::keep>(std::move(exposed->memory));
    all(to).send<&place::begin_kept>();
    const bool receiver_ends = random() % 2 == 0;
    for (auto messages = random() % 6; messages > 2; --messages) all(to).call<&place::where>().get();
    if (receiver_ends) all(to).send<&place::drop_coming>();
    if (random() % 2 == 0) {
      exposed.reset();
      mine.reset();
    } else {
      exposed->reusable.get();
    }
    if (receiver_ends) continue;
    try {
      check(all(to).call<&place::finish_coming>(1).get(), "other values arrived");
      ++received;
    } catch (const remote_error& error) {
      check(std::string(error.what()).find("has withdrawn its memory") != std::string::npos, error.what());
      ++refused;
    }
  }
  check(received > 0, "nothing was received");
  if (has_wire()) check(received + refused > 20, "too few rounds without an end of the receiver");
  quiescence().get();
}
const case_entry any_moment_case{"zero_copy_ends_at_any_moment", &zero_copy_ends_at_any_moment};

// Without running messages: PE 0 cannot hear that a future of its table has ended.
void spin_until(int& word, int value) {
  while (std::atomic_ref(word).load() != value) std::this_thread::yield();
}

// The sender's future has gone to another PE with its element. When it ends there the memory is the sender's again.
void zero_copy_is_withdrawn_by_another_pe() {
  if (pe_count() / process_count() < 2 || sched::this_pe().job().values().shuffle != 0) return;
  int noted = 0;
  place::noted = &noted;
  const auto all = on_each_pe();
  const auto sender = all(0), receiver = all(1);
  sender.call<&place::expose_own>(receiver, 3000).get();
  sender.send<&place::go>(1);
  quiescence().get();
  sender.send<&place::take_back>(receiver);
  spin_until(noted, 1);
  check(place::said.find("has withdrawn its memory of 24000 bytes") != std::string::npos, place::said);
}
const case_entry other_pe_case{"zero_copy_is_withdrawn_by_another_pe", &zero_copy_is_withdrawn_by_another_pe};

// The same of the receiver's, while the data lies in the inbox of PE 0 already.
void zero_copy_is_given_up_by_another_pe() {
  const int of_process = pe_count() / process_count();
  if (of_process < 2 || process_count() < 2 || sched::this_pe().job().values().shuffle != 0) return;
  if (on_another_host(of_process) || sched::this_pe().job().values().kernel_copies) return;
  int noted = 0;
  place::noted = &noted;
  buffer<int> flag(1);  // in the arena
  int& word = flag[0];
  word = 0;
  const auto address = reinterpret_cast<std::uint64_t>(&word);
  const auto all = on_each_pe();
  const auto sender = all(of_process), receiver = all(0);
  sender.call<&place::expose_own>(receiver, 3000).get();
  check_equal(receiver.call<&place::kept_size>().get(), 3000U);
  sender.send<&place::hold>(address);
  spin_until(word, 1);
  receiver.send<&place::begin_kept>();
  receiver.send<&place::go>(1);
  while (receiver.call<&place::where>().get() != 1) {
  }
  check_equal(receiver.call<&place::where>().get(), 1);  // PE 0, too, knows the way: what it sends goes out at once
  sender.send<&place::report>(address);
  std::atomic_ref(word).store(2);
  spin_until(word, 3);
  receiver.send<&place::drop_coming_only>();
  spin_until(noted, 1);
  quiescence().get();
  check(receiver.call<&place::is_untouched>().get(), "memory was written after the future had ended");
}
const case_entry given_up_case{"zero_copy_is_given_up_by_another_pe", &zero_copy_is_given_up_by_another_pe};

// The job ends with transfers under way, references in messages and in elements, and futures of both sides.
void only_zero_copy_at_the_end() {
  auto all = on_each_pe();
  static std::vector<double> mine = values_of(0, 400'000);
  static std::vector<std::unique_ptr<exposure<double>>> exposures;
  for (int to = 0; to < pe_count(); ++to)
    for (int i = 0; i < 4; ++i) {
      exposures.push_back(std::make_unique<exposure<double>>(expose(std::span(mine))));
      all(to).send<&place::keep>(std::move(exposures.back()->memory));
      if (i % 2 == 0) all(to).send<&place::begin_kept>();
    }
}
const case_entry end_case{"only_zero_copy_at_the_end", &only_zero_copy_at_the_end};

// The receiver's process dies while the sender waits.
void crash_zero_copy() {
  auto all = on_each_pe();
  const auto mine = values_of(0, 1000);
  auto exposed = expose(std::span(mine));
  all(pe_count() - 1).send<&place::keep>(std::move(exposed.memory));
  quiescence().get();
  make_group<counted>();
  struct killer : group_member<killer> {
    void kill() { std::abort(); }
  };
  make_group<killer>()(pe_count() - 1).send<&killer::kill>();
  exposed.reusable.get();
}
const case_entry crash_case{"crash_zero_copy", &crash_zero_copy};

}  // namespace
}  // namespace tri::testing
