// What accesses to global arrays send, counted: on every PE of a job over several hosts.
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "arrays/spmd_cases.hpp"
#include "config/configuration.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/arrays.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

std::uint64_t own_messages() { return sched::this_pe().counters().sent.read(); }

void report_messages(promise<std::int64_t> to) {
  to.set(static_cast<std::int64_t>(sched::this_pe().counters().sent_to_hosts.read()));
}
/// Messages to other hosts that all PEs have sent; for PE 0, while the others wait. None is under way.
std::int64_t messages_between_hosts() {
  quiescence().get();
  std::vector<future<std::int64_t>> counts(static_cast<std::size_t>(pe_count()));
  for (int pe = 0; pe < pe_count(); ++pe)
    tri::send<&report_messages>(pe, counts[static_cast<std::size_t>(pe)].get_promise());
  std::int64_t all = 0;
  for (auto& count : counts) all += count.get();
  return all;
}

/// Messages between hosts that `work` makes, of all PEs together, with the fence behind it.
template <class Work>
std::int64_t messages_of(Work&& work) {
  const auto count = [](auto&& between) {
    std::int64_t before = 0, after = 0;
    if (this_pe() == 0) before = messages_between_hosts();
    team::world().barrier().get();
    between();
    fence().get();
    team::world().barrier().get();
    if (this_pe() == 0) after = messages_between_hosts();
    return team::world().broadcast(after - before, 0).get();
  };
  const std::int64_t of_barriers = count([] {});
  return count(work) - of_barriers;
}

int pe_of_another_host() {
  const sched::runtime& job = sched::this_pe().job();
  return job.first_pe_of((job.host() + 1) % job.hosts());
}

// Made by all PEs: no message, no wait, the same name everywhere.
void arrays_made_by_all() {
  const std::uint64_t before = own_messages();
  std::vector<global_array<double, 2>> made;
  for (int i = 0; i < 100; ++i) made.emplace_back(position<2>(40, 50), tiles(3, 4));
  check_equal(own_messages(), before);
  for (const auto& one : made) {
    const auto name = one.pointer_to({0, 0});
    check(team::world().broadcast(name, 0).get() == name, "the same name on all PEs");
    for_each_own(one,
                 [](const position<2>& at, double& element) { element = static_cast<double>(at[0] * 50 + at[1]); });
  }
  check_equal(messages_of([] {}), 0);
  barrier().get();
  for (const auto& one : made) check_equal(double{one(39, 49)}, 39 * 50 + 49);
  for (const auto& one : made) one.free().get();
}

// A get of 4 bytes: a request and an answer. A put: one message. Updates: one, and one more for the value before.
void single_elements() {
  const global_array<std::int32_t, 1> a(position<1>(pe_count()), tiles(1));
  const int far = pe_of_another_host();
  const bool acts = this_pe() == 0;
  constexpr int times = 50;
  const auto expect = [&](std::int64_t messages, auto&& access) {
    check_equal(messages_of([&] {
                  for (int i = 0; acts && i < times; ++i) access(i);
                }),
                messages);
  };
  const std::int64_t fence_there_and_back = 2;
  expect(2 * times, [&](int) { (void)std::int32_t{a(far)}; });
  expect(2 * times + fence_there_and_back, [&](int) { (void)a(far).compare_exchange(1, 2); });
  expect(2 * times + fence_there_and_back, [&](int) { (void)a(far).fetch_add(1); });
  expect(times + fence_there_and_back, [&](int i) { a(far) = i; });
  expect(times + fence_there_and_back, [&](int i) { a(far) += i; });
  // On its own host an access sends nothing.
  const std::uint64_t before = own_messages();
  for (int i = 0; i < times; ++i) a(this_pe()) = a(this_pe()) + 1;
  check_equal(own_messages(), before);
  barrier().get();
  a.free().get();
}

// RandomAccess's update: one message each, where a get and a put take three; applied twice it restores the table.
void xor_updates() {
  constexpr std::int64_t words_of_pe = 64;
  const global_array<std::uint64_t, 1> table(position<1>(words_of_pe * pe_count()), tiles(words_of_pe));
  for_each_own(table, [](const position<1>& at, std::uint64_t& word) { word = static_cast<std::uint64_t>(at[0]); });
  constexpr int updates = 20'000;
  std::int64_t to_other_hosts = 0;
  const auto update_all = [&] {
    std::mt19937_64 random(static_cast<std::uint64_t>(this_pe()) + 1);
    to_other_hosts = 0;
    for (int i = 0; i < updates; ++i) {
      const std::uint64_t value = random();
      const auto at = static_cast<std::int64_t>(value % static_cast<std::uint64_t>(table.size()));
      if (!sched::this_pe().job().is_on_own_host(table.owner(position<1>(at)))) ++to_other_hosts;
      table(at) ^= value;
    }
  };
  const std::int64_t sent = messages_of(update_all);
  const sched::runtime& job = sched::this_pe().job();
  // A fence of each PE to all PEs of other hosts, and their answers.
  const std::int64_t fences = 2 * (pe_count() - job.pes_of_host());
  check_equal(sent, team::world().allreduce(to_other_hosts + fences, sum).get());
  update_all();
  barrier().get();
  for_each_own(table,
               [](const position<1>& at, std::uint64_t word) { check_equal(word, static_cast<std::uint64_t>(at[0])); });
  // With a get and a put each takes three.
  check_equal(messages_of([&] {
                for (int i = 0; this_pe() == 0 && i < 100; ++i) {
                  const std::int64_t at = pe_of_another_host() * words_of_pe;
                  table(at) = table(at) ^ 5;
                }
              }),
              3 * 100 + 2);
  barrier().get();
  table.free().get();
}

// A section of any shape: a request and an answer for each PE with a part.
void sections() {
  const global_array<std::int64_t, 2> a({8 * pe_count(), 9}, tiles(2, 3));
  std::vector<std::int64_t> column(static_cast<std::size_t>(a.extent(0)));
  const region<2> box({0, 4}, {a.extent(0), 5});
  std::int64_t remote = 0;
  for (int pe = 0; pe < pe_count(); ++pe) {
    bool has_part = false;
    for (std::int64_t i = 0; i < a.extent(0); ++i) has_part = has_part || a.owner({i, 4}) == pe;
    if (has_part && !sched::this_pe().job().is_on_own_host(pe)) ++remote;
  }
  const bool acts = this_pe() == 0;
  const std::int64_t expected = team::world().broadcast(2 * remote, 0).get();
  check_equal(messages_of([&] {
                if (acts) a.get(box, column.data()).get();
              }),
              expected);
  // Each PE that got a part is asked by the fence, too.
  check_equal(messages_of([&] {
                if (acts) a.put(box, column.data()).get();
              }),
              2 * expected);
  a.free().get();
}

// Parts of more than 256 KiB go in several messages.
void large_sections() {
  constexpr std::int64_t rows = 1024, columns = 128;  // 1 MiB
  const global_array<std::int64_t, 2> a({rows * pe_count(), columns}, tiles(rows, columns));
  for_each_own(a, [](const position<2>& at, std::int64_t& element) { element = at[0] * columns + at[1]; });
  barrier().get();
  const int far = team::world().broadcast(pe_of_another_host(), 0).get();
  const region<2> box({rows * far, 0}, {rows * (far + 1), columns});
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows * columns));
  const bool acts = this_pe() == 0;
  constexpr std::int64_t messages = 4;
  check_equal(messages_of([&] {
                if (acts) a.get(box, values.data()).get();
              }),
              2 * messages);
  if (acts)
    for (std::int64_t i = 0; i < rows * columns; ++i)
      check_equal(values[static_cast<std::size_t>(i)]++, box.first[0] * columns + i);
  const std::int64_t fence_there_and_back = 2;
  check_equal(messages_of([&] {
                if (acts) a.put(box, values.data()).get();
              }),
              2 * messages + fence_there_and_back);
  barrier().get();
  for_each_own(a, [&](const position<2>& at, std::int64_t element) {
    check_equal(element, at[0] * columns + at[1] + (box.contains(at) ? 1 : 0));
  });
  barrier().get();
  a.free().get();
}

struct answer_figures {
  std::uint64_t all, postponed, most;
};
void report_answers(promise<answer_figures> to) {
  const sched::runtime& job = sched::this_pe().job();
  const auto& figures = job.process_record_of(job.process())->between_hosts;
  to.set(answer_figures{figures.answers.read(), figures.postponed_requests.read(), figures.most_answers.read()});
}

// A flood of requests: their owner has no more answers in its memory than there are slots, whatever was asked of it.
void answers_wait_for_slots() {
  constexpr std::int64_t words = 8192;  // 64 KiB
  constexpr int sections = 400, most_rounds = 200;
  const global_array<std::int64_t, 1> a(position<1>(words * pe_count()), tiles(words));
  for_each_own(a, [](const position<1>& at, std::int64_t& element) { element = at[0]; });
  barrier().get();
  const sched::runtime& job = sched::this_pe().job();
  const auto slots = static_cast<std::uint64_t>(job.values().answer_slots);
  if (this_pe() == 0) {
    const std::int64_t first = words * pe_of_another_host();
    std::vector<std::vector<std::int64_t>> values(sections, std::vector<std::int64_t>(words));
    const auto figures_of_owner = [] {
      future<answer_figures> answered;
      tri::send<&report_answers>(pe_of_another_host(), answered.get_promise());
      return answered.get();
    };
    const answer_figures before = figures_of_owner();
    answer_figures figures = before;
    int round = 0;
    // How many were postponed depends on what the network takes at once.
    for (; figures.postponed == before.postponed && round < (slots < 64 ? most_rounds : 1); ++round) {
      std::vector<future<void>> under_way;
      for (auto& section : values) under_way.push_back(a.get(region<1>(first, first + words), section.data()));
      // Without a poll: the owner has nothing to do meanwhile but to wait for slots.
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      while (std::chrono::steady_clock::now() < end) {
      }
      for (auto& section : under_way) section.get();
      for (auto& section : values) {
        check_equal(section.front(), first);
        check_equal(section.back(), first + words - 1);
        section.back() = 0;
      }
      figures = figures_of_owner();
    }
    check_equal(figures.all - before.all, static_cast<std::uint64_t>(round * sections));
    check(figures.most <= slots, std::to_string(figures.most) + " answers at a time");
    check(slots >= 64 || figures.postponed > before.postponed, "no request waited for a slot");
  }
  barrier().get();
  a.free().get();
}

// All PEs but those of one process ask that one, and its few slots are enough: what a PE has put, its next get sees.
void many_ask_one() {
  constexpr std::int64_t words = 2048;  // 16 KiB: one part for each PE that asks
  constexpr int rounds = 10;
  const global_array<std::int64_t, 2> a({pe_count(), words}, tiles(pe_count(), words));  // of PE 0
  const sched::runtime& job = sched::this_pe().job();
  const auto& figures = job.process_record_of(job.process())->between_hosts;
  const std::uint64_t before = figures.answers.read();
  barrier().get();
  if (this_pe() >= pes_per_process()) {
    const region<2> own({this_pe(), 0}, {this_pe() + 1, words});
    std::vector<std::vector<std::int64_t>> put(rounds, std::vector<std::int64_t>(words)), got = put;
    std::vector<future<void>> under_way;
    for (int round = 0; round < rounds; ++round) {
      put[static_cast<std::size_t>(round)].assign(words, round * pe_count() + this_pe());
      under_way.push_back(a.put(own, put[static_cast<std::size_t>(round)].data()));
      under_way.push_back(a.get(own, got[static_cast<std::size_t>(round)].data()));
    }
    for (auto& one : under_way) one.get();
    check(put == got, "another order of one PE's requests");
  }
  barrier().get();
  if (this_pe() == 0) {
    check_equal(figures.answers.read() - before, static_cast<std::uint64_t>(rounds * (pe_count() - pes_per_process())));
    check(figures.most_answers.read() <= static_cast<std::uint64_t>(job.values().answer_slots),
          std::to_string(figures.most_answers.read()) + " answers at a time");
  }
  barrier().get();
  a.free().get();
}

// Both sides ask each other for more than message memory holds of requests or of answers.
void floods_both_ways() {
  constexpr std::int64_t words = 1024;  // 8 KiB
  constexpr int sections = 3000;
  const global_array<std::int64_t, 1> a(position<1>(words * pe_count()), tiles(words));
  for_each_own(a, [](const position<1>& at, std::int64_t& element) { element = at[0]; });
  barrier().get();
  const std::int64_t first = words * pe_of_another_host();
  std::vector<std::int64_t> values(words);
  std::vector<future<void>> under_way;
  under_way.reserve(sections);
  for (int i = 0; i < sections; ++i) under_way.push_back(a.get(region<1>(first, first + words), values.data()));
  for (auto& one : under_way) one.get();
  for (std::int64_t i = 0; i < words; ++i) check_equal(values[static_cast<std::size_t>(i)], first + i);
  barrier().get();
  a.free().get();
}

// A request, the answer and the release are one message each, however long a PE waits.
void locks() {
  const auto lock = global_lock::made_by_all();
  constexpr int rounds = 20;
  const std::int64_t far_from_home = pe_count() - sched::this_pe().job().pes_of_host();
  check_equal(messages_of([&] {
                for (int i = 0; i < rounds; ++i) {
                  const auto held = lock.acquire().get();
                  for (int step = 0; step < 10; ++step) progress();  // the others wait
                }
              }),
              3 * rounds * far_from_home);
  lock.free().get();
}

// Two PEs make 10,000 arrays each at the same time, without any agreement: all PEs come to have all of them.
void ten_thousand_arrays_made_by_two_pes() {
  constexpr int count = 10'000;
  const int other = pe_count() - 1;
  const bool makes = this_pe() == 0 || this_pe() == other;
  std::vector<global_array<std::int32_t, 1>> made;
  std::uint64_t first = 0;
  if (makes) {
    for (int i = 0; i < count; ++i) made.push_back(make_global_array<std::int32_t>(pe_count(), tiles(1)));
    first = made.front().pointer_to(position<1>(0)).array();
  }
  team::world().barrier().get();
  if (this_pe() == 0) quiescence().get();  // the notifications of all have come
  team::world().barrier().get();
  for (const int maker : {0, other}) {
    const std::uint64_t named = team::world().broadcast(first, maker).get();
    for (std::uint64_t i = 0; i < count; ++i) {
      const global_pointer<std::int32_t> own(named + i, this_pe());
      check(static_cast<std::int32_t*>(own) != nullptr, "this PE has made its piece");
      *own = static_cast<std::int32_t>(i) + maker;
    }
  }
  barrier().get();
  for (std::size_t i = 0; i < made.size(); ++i)
    check_equal(std::int32_t{made[i](static_cast<std::int64_t>(i) % pe_count())},
                static_cast<std::int32_t>(i) + this_pe());
  barrier().get();
  for (const auto& one : made) (void)one.free();
  if (makes) fence().get();
  team::world().barrier().get();
  if (this_pe() == 0) quiescence().get();
  team::world().barrier().get();
  if (makes) expect_throws([&] { made.back()(0) = 1; }, "was freed");
}

constexpr test_case cases[] = {{"arrays_made_by_all", &arrays_made_by_all},
                               {"single_elements", &single_elements},
                               {"xor_updates", &xor_updates},
                               {"sections", &sections},
                               {"large_sections", &large_sections},
                               {"answers_wait_for_slots", &answers_wait_for_slots},
                               {"floods_both_ways", &floods_both_ways},
                               {"many_ask_one", &many_ask_one},
                               {"locks", &locks},
                               {"ten_thousand_arrays_made_by_two_pes", &ten_thousand_arrays_made_by_two_pes}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::testing::run_cases(tri::testing::cases, argc, argv); }
