// Messages that cannot be sent: their arguments come back, and nothing is left behind.
#include <gtest/gtest.h>

#include <sched.h>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "counted.hpp"
#include "support/check.hpp"
#include "support/run_on_pes.hpp"

namespace tri::testing {
namespace {

struct heavy : counted {
  std::array<char, 3000> body{};
};
// Until it ends there is no memory for anything more; `spare` bytes, one block, can be allocated after `leave_room()`.
class full_arena {
 public:
  explicit full_arena(std::size_t spare) : spare_(arena::allocate(spare)) {
    for (const std::size_t bytes : {std::size_t{60'000}, std::size_t{64}}) try {
        for (;;) filler_.push_back(arena::allocate(bytes));
      } catch (const arena::arena_exhausted&) {
      }
  }
  full_arena(const full_arena&) = delete;
  full_arena& operator=(const full_arena&) = delete;
  ~full_arena() {
    if (spare_ != nullptr) arena::release(spare_);
    for (void* const each : filler_) arena::release(each);
  }
  void leave_room() { arena::release(std::exchange(spare_, nullptr)); }

 private:
  void* spare_;
  std::vector<void*> filler_;
};

std::atomic<bool> holding{false}, let_go{false};
struct holder : array_element<holder, index<1>> {
  void hold() {
    holding = true;
    while (!let_go.load()) sched_yield();
  }
  void take(heavy) {}
  void nothing() {}
};

// The receiver's ring is full, and there is memory for the arguments but none for the message.
TEST(failed_sends, a_message_that_finds_no_place_gives_its_arguments_back) {
  holding = let_go = false;
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         const auto held = make_array<holder>({2}, block());
                         held(1).send<&holder::hold>();
                         while (!holding.load()) sched_yield();
                         std::optional<full_arena> full(sizeof(std::tuple<heavy>));
                         check_throws<arena::arena_exhausted>(
                             [&] {
                               for (;;) held(1).send<&holder::nothing>();  // until the ring is full
                             },
                             "exhausted");
                         full->leave_room();
                         check_throws<arena::arena_exhausted>([&] { held(1).send<&holder::take>(heavy()); },
                                                              "exhausted");
                         check_equal(alive.load(), 0);
                         arena::release(arena::allocate(sizeof(std::tuple<heavy>)));  // throws if it is not back
                         full.reset();
                         let_go = true;
                         quiescence().get();
                       },
                       {"--tri-inbox-cells=16", "--tri-arena-limit-bytes=8388608"}),
            0);
}

// The same for messages whose envelope is allocated: towards an element that does not exist, with a priority, later.
TEST(failed_sends, a_message_that_finds_no_envelope_gives_its_arguments_back) {
  EXPECT_EQ(
      run_on_pes(1,
                 [] {
                   const auto absent = make_sparse_array<holder>();
                   const auto present = make_array<holder>({1});
                   const auto check_refused = [&](auto&& send) {
                     full_arena full(sizeof(std::tuple<heavy>));
                     full.leave_room();
                     check_throws<arena::arena_exhausted>(send, "exhausted");
                     check_equal(alive.load(), 0);
                     arena::release(arena::allocate(sizeof(std::tuple<heavy>)));
                   };
                   check_refused([&] { absent(3).send<&holder::take>(heavy()); });
                   check_refused([&] { absent(3).with(2).send<&holder::take>(heavy()); });
                   check_refused([&] { present(0).with(-5).send<&holder::take>(heavy()); });
                   check_refused([&] { present(0).with(immediate).send<&holder::take>(heavy()); });
                   check_refused([&] { send_after<&holder::take>(std::chrono::nanoseconds(1), present(0), heavy()); });
                   quiescence().get();  // none of them counts as being under way
                 },
                 {"--tri-arena-limit-bytes=8388608"}),
      0);
}

struct four_dimensional : array_element<four_dimensional, index<4>> {
  explicit four_dimensional(counted) {}
};
TEST(failed_sends, an_index_out_of_range_gives_the_arguments_back) {
  EXPECT_EQ(run_on_pes(1,
                       [] {
                         const auto all = make_sparse_array<four_dimensional>();
                         check_throws<std::out_of_range>(
                             [&] {
                               all.insert({1 << 20, 0, 0, 0}, counted());
                             },
                             "index 1048576 in dimension 0");
                         check_equal(alive.load(), 0);
                       }),
            0);
}

// What the conversion of an argument throws leaves no broadcast behind that the PEs wait for, and no root of a
// reduction.
struct picky {
  int value = 0;
  picky() = default;
  picky(int given) : value(given) {  // NOLINT(google-explicit-constructor)
    if (given < -1) throw given;
    if (given < 0) throw std::domain_error("negative");
  }
};
struct taker : array_element<taker, index<1>> {
  int taken = 0;
  void take(picky what) { taken += what.value; }
  int take_and_tell(picky what) { return what.value; }
  int sum_taken() { return taken; }
};
TEST(failed_sends, a_broadcast_that_throws_was_never_sent) {
  EXPECT_EQ(
      run_on_pes(2,
                 [] {
                   const auto all = make_array<taker>({4}, round_robin());
                   const auto part = all.select({0, 1});
                   const auto check_all_thrown = [&](auto&& action) {
                     check_throws<std::domain_error>([&] { action(-1); }, "negative");
                     try {
                       action(-2);
                       failed("nothing was thrown", std::source_location::current());
                     } catch (int) {
                     }
                   };
                   check_all_thrown([&](int bad) { all.broadcast<&taker::take>(bad); });
                   check_all_thrown([&](int bad) { part.multicast<&taker::take>(bad); });
                   check_all_thrown([&](int bad) { static_cast<void>(all.reduce<&taker::take_and_tell>(sum, bad)); });
                   check_all_thrown([&](int bad) { static_cast<void>(part.reduce<&taker::take_and_tell>(sum, bad)); });
                   quiescence().get();
                   check_equal(objects::pe_objects::of(sched::this_pe()).describe_waiting(), "");
                   all.broadcast<&taker::take>(3);
                   check_equal(all.reduce<&taker::sum_taken>(sum).get(), 12);
                 },
                 {"--tri-stall-report-s=1"}),
      0);
}

}  // namespace
}  // namespace tri::testing
