// Locks of the whole job on every PE: one holder at a time, in the order of requests.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "arrays/spmd_cases.hpp"
#include "trireme/arrays.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

// Two words on different PEs that a holder reads and writes back, without atomic updates: a second holder would lose
// some, and one that does not see what was written before would find them different.
void count_under_lock(int rounds_of_all) {
  const auto lock = global_lock::made_by_all();
  const int pes = pe_count();
  const global_array<std::int64_t, 1> words(position<1>(2 * pes), tiles(1));
  const int rounds = rounds_of_all / pes;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t one = round % pes, other = pes + (round + 1) % pes;
    const auto held = lock.acquire().get();
    const std::int64_t before = words(one);
    check_equal(std::int64_t{words(other)}, before);
    words(one) = before + 1;
    words(other) = before + 1;
  }
  barrier().get();
  std::int64_t total = 0;
  for (std::int64_t at = 0; at < pes; ++at) total += words(at);
  check_equal(total, std::int64_t{rounds} * pes);
  barrier().get();
  lock.free().get();
  words.free().get();
}
void one_holder_at_a_time() { count_under_lock(3000); }
void hundred_thousand_rounds() { count_under_lock(100'000); }

void answer(promise<int> to) { to.set(1); }
/// All messages of this PE to another have been run there.
void let_arrive_at(int pe) {
  future<int> back;
  tri::send<&answer>(pe, back.get_promise());
  back.get();
}

// They ask one after another, while PE 0 has it, and get it in this order.
void the_order_is_that_of_requests() {
  const auto lock = global_lock::made_by_all();
  const global_array<std::int64_t, 1> tickets(position<1>(1));
  for (int round = 0; round < 5; ++round) {
    std::vector<lock_guard> first;
    std::vector<lock_request> waiting;
    if (this_pe() == 0) first.push_back(lock.acquire().get());
    const std::int64_t drawn = tickets(0);
    team::world().barrier().get();
    int turn = 0;  // of this PE
    for (int one = 1; one < pe_count(); ++one) {
      if (this_pe() == 1 + (one - 1 + round) % (pe_count() - 1)) {
        turn = one;
        waiting.push_back(lock.acquire());
        let_arrive_at(lock.home());
        check(!waiting[0].ready(), "PE 0 has it");
      }
      team::world().barrier().get();
    }
    first.clear();
    for (lock_request& request : waiting) {
      const auto held = request.get();
      check_equal(std::int64_t{tickets(0)}, drawn + turn - 1);
      tickets(0) += 1;
    }
    barrier().get();
    check_equal(std::int64_t{tickets(0)}, drawn + pe_count() - 1);
    barrier().get();
  }
  lock.free().get();
  tickets.free().get();
}

struct counter : group_member<counter> {
  task<int> adds(global_lock lock, global_array<std::int64_t, 1> words, int times) {
    for (int i = 0; i < times; ++i) {
      const auto held = co_await lock.acquire();
      const std::int64_t before = co_await words.get(position<1>(0));
      words(0) = before + 1;
    }
    co_return times;
  }
};

// Several coroutines of a PE wait for each other, too. The lock is of one PE, and its handle is sent.
void coroutines_wait_for_it() {
  if (this_pe() == 0) {
    const auto members = make_group<counter>();
    const auto lock = make_global_lock();
    const auto words = make_global_array<std::int64_t>(1);
    std::vector<future<int>> ends;
    for (int pe = 0; pe < pe_count(); ++pe)
      for (int i = 0; i < 3; ++i) ends.push_back(members[pe].call<&counter::adds>(lock, words, 40));
    for (auto& end : ends) end.get();
    check_equal(std::int64_t{words(0)}, 120 * pe_count());
    lock.free().get();
    words.free().get();
  }
  barrier().get();
}

// Requests that are given up before and after they have the lock give it back.
void requests_are_given_up() {
  const auto lock = global_lock::made_by_all();
  for (int round = 0; round < 3; ++round) {
    std::vector<lock_guard> held;
    if (this_pe() == 0) held.push_back(lock.acquire().get());
    team::world().barrier().get();
    if (this_pe() != 0) {
      const lock_request unused = lock.acquire();
      let_arrive_at(lock.home());
    }
    team::world().barrier().get();
    held.clear();
    {
      const lock_request unused = lock.acquire();
      while (!unused.ready()) progress();
    }
    { const auto at_last = lock.acquire().get(); }
    team::world().barrier().get();  // PE 0 would keep it from the others in the next round
  }
  barrier().get();
  lock.free().get();
}

// Polled, and released without the guard: the request ends with that, and gives back nothing that others hold.
void released_without_being_taken() {
  const auto lock = global_lock::made_by_all();
  {
    lock_request polled = lock.acquire();
    while (!polled.ready()) progress();
    lock.release();
    expect_throws([&] { (void)polled.get(); }, "it was released before this request for it was taken");
  }
  auto first = std::make_unique<lock_request>(lock.acquire());
  while (!first->ready()) progress();
  lock_request second = lock.acquire();
  lock.release();
  while (!second.ready()) progress();
  first.reset();
  second.get().release();  // it is held
  expect_throws([&] { lock.release(); }, "is not held by PE " + std::to_string(this_pe()));
  barrier().get();
  lock.free().get();
}

void guards_move_and_end() {
  const auto lock = global_lock::made_by_all();
  lock_guard held = lock.acquire().get();
  lock_guard moved = std::move(held);
  check(!held && moved, "one of them holds it");  // NOLINT(bugprone-use-after-move): defined to be empty
  expect_throws([&] { held.release(); }, "this handle names no lock");
  moved.release();
  check(!moved, "it was released");
  expect_throws([&] { lock.release(); }, "is not held by PE " + std::to_string(this_pe()));
  {
    auto again = lock.acquire().get();
    again = lock_guard(global_lock());
    again = lock.acquire().get();
    check(again.detach() == lock && !again, "detached");
  }
  lock.release();
  barrier().get();
  lock.free().get();
}

// The end of a lock comes behind those who have asked for it; later requests fail, wherever they are made.
void freed_behind_its_holders() {
  expect_throws([] { (void)global_lock().acquire(); }, "this handle names no lock");
  const auto of_all = global_lock::made_by_all();
  {
    const auto held = of_all.acquire().get();
    expect_throws([&] { (void)of_all.free(); }, "is freed while PE " + std::to_string(this_pe()) + " holds it");
  }
  of_all.free().get();
  expect_throws([&] { (void)of_all.acquire(); }, "was freed");
  expect_throws([&] { (void)of_all.free(); }, "was freed");

  const int last = pe_count() - 1;
  global_lock lock;
  if (this_pe() == 0) lock = make_global_lock();
  lock = team::world().broadcast(lock, 0).get();
  std::vector<lock_guard> held;
  if (this_pe() == last && last != 0) held.push_back(lock.acquire().get());
  team::world().barrier().get();
  if (this_pe() == 0) {
    future<void> freed = lock.free();
    let_arrive_at(0);
    check(freed.ready() == (last == 0), "it waits for its holder");
    team::world().barrier().get();
    freed.get();
  } else {
    team::world().barrier().get();
    held.clear();
  }
  team::world().barrier().get();
  expect_throws([&] { (void)lock.acquire().get(); }, "global lock 1 of those made by PE 0 was freed");
  barrier().get();
}

constexpr test_case cases[] = {{"freed_behind_its_holders", &freed_behind_its_holders},
                               {"one_holder_at_a_time", &one_holder_at_a_time},
                               {"the_order_is_that_of_requests", &the_order_is_that_of_requests},
                               {"coroutines_wait_for_it", &coroutines_wait_for_it},
                               {"requests_are_given_up", &requests_are_given_up},
                               {"released_without_being_taken", &released_without_being_taken},
                               {"guards_move_and_end", &guards_move_and_end}};
constexpr test_case when_named[] = {{"hundred_thousand_rounds", &hundred_thousand_rounds}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) {
  return tri::testing::run_cases(tri::testing::cases, argc, argv, tri::testing::when_named);
}
