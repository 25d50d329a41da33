// The parts of virtual threads that can be tried by themselves: contexts, the sizes of stacks, what is unsupported.
#include <gmock/gmock.h>

#include <cfenv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "omp/fibers/fiber.hpp"
#include "omp/fibers/unsupported_constructs.hpp"
#include "omp/fibers/virtual_count.hpp"
#include "omp/fibers/virtual_stacks.hpp"

namespace tri::omp {
namespace {

struct ping_pong {
  fiber outside;
  fiber inside;
  std::vector<int> seen;
  std::uintptr_t misaligned = 1;
  std::string caught;
  int rounding = -1;
};

void inside_context(void* argument) {
  auto& game = *static_cast<ping_pong*>(argument);
  alignas(16) volatile char here = 0;
  game.misaligned = reinterpret_cast<std::uintptr_t>(&here) % 16;
  game.rounding = std::fegetround();
  std::fesetround(FE_UPWARD);
  for (int round = 0; round < 5; ++round) {
    game.seen.push_back(2 * round);
    fiber::switch_between(game.inside, game.outside);
    if (std::fegetround() != FE_UPWARD) game.seen.push_back(-1);
  }
  try {
    throw std::runtime_error("thrown inside");
  } catch (const std::runtime_error& error) {
    game.caught = error.what();
  }
  fiber::leave_for(game.outside);
}

TEST(fiber, comes_and_goes_with_its_own_stack_and_rounding) {
  stack_shelf shelf;
  for (int times = 0; times < 2; ++times) {
    const stack_area stack = shelf.take(std::size_t{256} << 10);
    ping_pong game;
    game.inside.prepare(stack.bottom, stack.size, &inside_context, &game);
    for (int round = 0; round < 5; ++round) {
      fiber::switch_between(game.outside, game.inside);
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      game.seen.push_back(2 * round + 1);
    }
    fiber::switch_between(game.outside, game.inside);
    EXPECT_THAT(game.seen, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    EXPECT_EQ(game.misaligned, 0u);
    EXPECT_EQ(game.caught, "thrown inside");
    EXPECT_EQ(game.rounding, FE_TONEAREST);
    std::fesetround(FE_TONEAREST);  // what a context leaves behind is its thread's
    shelf.put_back(stack, 4);
  }
}

TEST(stack_shelf, gives_the_last_one_again_and_shares_what_is_too_much) {
  const std::size_t size = std::size_t{128} << 10;
  stack_shelf mine;
  stack_shelf others;
  const stack_area first = mine.take(size);
  const stack_area second = mine.take(size);
  EXPECT_NE(first.bottom, second.bottom);
  mine.put_back(first, 1);
  EXPECT_EQ(mine.take(size).bottom, first.bottom);
  mine.put_back(first, 1);
  mine.put_back(second, 1);
  EXPECT_EQ(others.take(size).bottom, second.bottom);
  EXPECT_NE(mine.take(2 * size).bottom, first.bottom);
  EXPECT_EQ(mine.take(size).bottom, first.bottom);
  static_cast<volatile char*>(first.bottom)[0] = 1;
  EXPECT_DEATH(static_cast<volatile char*>(first.bottom)[-1] = 1, "");
}

TEST(stack_sizes, are_those_of_the_environment_or_the_process) {
  constexpr std::uint64_t eight = std::uint64_t{8} << 20;
  const auto each = [](const char* text) { return choose_stack_sizes(text, nullptr, eight).each; };
  EXPECT_EQ(each(nullptr), eight);
  EXPECT_EQ(each("100"), std::size_t{100} << 10);
  EXPECT_EQ(each("70000B"), std::size_t{72} << 10);  // whole pages of 4 KiB
  EXPECT_EQ(each("512k"), std::size_t{512} << 10);
  EXPECT_EQ(each(" 16 M "), std::size_t{16} << 20);
  EXPECT_EQ(each("1G"), std::size_t{1} << 30);
  EXPECT_EQ(each("1"), std::size_t{64} << 10);
  for (const char* nonsense : {"", "much", "-4M", "4T", "4 M B", "99999999999999999999", "9999999999G"}) {
    EXPECT_EQ(each(nonsense), eight) << nonsense;
  }
  EXPECT_EQ(choose_stack_sizes(nullptr, "2M", eight).each, std::size_t{2} << 20);
  EXPECT_EQ(choose_stack_sizes("1M", "2M", eight).each, std::size_t{1} << 20);
  EXPECT_EQ(choose_stack_sizes("1M", nullptr, eight).first, eight);
  EXPECT_EQ(choose_stack_sizes("1G", nullptr, eight).first, std::size_t{1} << 30);
  EXPECT_EQ(choose_stack_sizes(nullptr, nullptr, unlimited).each, eight);
  EXPECT_EQ(choose_stack_sizes(nullptr, nullptr, unlimited).first, std::size_t{1} << 30);
}

TEST(unsupported_constructs, are_found_by_name) {
  for (const char* known : {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/libgomp.so.1.0.0", "libstdc++.so.6",
                            "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "linux-vdso.so.1",
                            "/lib/libm-2.31.so", "/usr/lib/libgfortran.so.5", "libgcc_s.so.1", "libquadmath.so.0"}) {
    EXPECT_TRUE(is_known_library(known)) << known;
  }
  for (const char* own : {"/usr/lib/libcrypto.so.3", "libmpi.so.40", "./libmine.so", "/opt/libm-fast.so", "libcc.so",
                          "libgomp_plugin.so", "libopenblas.so.0"}) {
    EXPECT_FALSE(is_known_library(own)) << own;
    EXPECT_EQ(is_mpi_library(own), std::string_view(own) == "libmpi.so.40") << own;
  }
  for (const char* fine :
       {"GOMP_parallel", "GOMP_task", "GOMP_loop_ull_ordered_static_next", "omp_get_thread_num_", "omp_set_lock",
        "omp_get_wtime", "printf", "__errno_location", "malloc", "__cxa_throw", "omp_display_env"}) {
    EXPECT_EQ(unsupported_symbol(fine), nullptr) << fine;
  }
  for (const char* unsupported :
       {"GOMP_teams_reg", "GOMP_parallel_reductions", "GOMP_target_ext", "GOMP_doacross_wait", "GOMP_parallel_start",
        "GOMP_loop_start", "GOMP_taskgroup_reduction_register", "omp_fulfill_event", "omp_fulfill_event_",
        "omp_display_affinity_", "pthread_create", "mtx_lock", "__kmpc_fork_call", "__tls_get_addr",
        "__emutls_get_address", "acc_init", "GOACC_parallel_keyed", "GOMP_something_new"}) {
    EXPECT_NE(unsupported_symbol(unsupported), nullptr) << unsupported;
  }
  EXPECT_TRUE(is_address_of_errno("__errno_location"));
  EXPECT_FALSE(is_address_of_errno("errno"));
}

}  // namespace
}  // namespace tri::omp
