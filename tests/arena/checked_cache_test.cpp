// The allocator that looks for errors (M15): what it finds, that it finds nothing else, and that no PE waits for
// another one in it.
#include "arena/checked_cache.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "arena/arena.hpp"
#include "test_window.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::arena {
namespace {

using testing::small_window_bytes;

struct open_arena {
  explicit open_arena(allocator_kind kind) : file(create_window_file(small_window_bytes)) {
    space.emplace(arena_options{small_window_bytes, 0, kind, {}}, std::vector<int>{file}, 0, [] {});
  }
  ~open_arena() {
    space.reset();
    close(file);
  }
  int file;
  std::optional<arena_space> space;
};

class checked_blocks : public ::testing::Test {
 protected:
  checked_blocks() { GTEST_FLAG_SET(death_test_style, "fast"); }
  open_arena arena_{allocator_kind::checked};
  cache_guard cache_{0};
};

char* allocated(std::size_t bytes) { return static_cast<char*>(allocate(bytes)); }

TEST_F(checked_blocks, are_aligned_and_may_be_written_in_full) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{63}, std::size_t{64},
                                  std::size_t{5000}, std::size_t{100'000}, std::size_t{3} << 20}) {
    char* const block = allocated(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (bytes >= 64 ? 64 : 16), 0u);
    std::memset(block, 'x', bytes);
    release(block);
  }
  EXPECT_TRUE(arena_.space->heap().is_valid());
}

TEST_F(checked_blocks, released_twice) {
  EXPECT_DEATH(
      {
        char* const block = allocated(100);
        release(block);
        release(block);
      },
      "a block of 100 bytes at 0x[0-9a-f]+, allocated by PE 0 of process 0 of this host, is released twice: now by PE "
      "0 "
      "of process 0 of this host, before by PE 0");
}

TEST_F(checked_blocks, that_are_none) {
  EXPECT_DEATH(
      {
        char* const block = allocated(1000);
        release(block + 128);
      },
      "is released, where no block begins, or one that was written before its beginning");
}

TEST_F(checked_blocks, written_around) {
  EXPECT_DEATH(
      {
        char* const block = allocated(100);
        block[103] = 0;
        release(block);
      },
      "was written 3 bytes behind its end");
  EXPECT_DEATH(
      {
        char* const block = allocated(100);
        std::memset(block - 64, 0, 64);
        release(block);
      },
      "or one that was written before its beginning");
}

TEST_F(checked_blocks, written_after_their_release) {
  EXPECT_DEATH(
      {
        char* const block = allocated(100);
        release(block);
        block[40] = 1;
        for (int i = 0; i < 1000; ++i) release(allocated(100));  // it leaves the quarantine
      },
      "was written at its byte 40 after PE 0 of process 0 of this host had released it");
  EXPECT_DEATH(
      {
        const cache_guard of_pe_1(1);
        char* const block = allocated(100);
        release(block);
        block[40] = 1;
      },
      "allocated by PE 1 of")
      << "at the end of the PE at the latest";
}

TEST_F(checked_blocks, by_threads_without_a_pe) {
  EXPECT_DEATH(std::thread([] {
                 char* const block = allocated(10);
                 release(block);
                 release(block);
               }).join(),
               "allocated by a thread that is no PE, in process 0 of this host");
}

// A PE is stopped at any point of its allocator, by a signal; meanwhile another one allocates and releases many blocks.
// It could not if the stopped one held something for which it has to wait.
class stopped_pe {
 public:
  stopped_pe() {
    struct sigaction action {};
    action.sa_handler = [](int) {
      is_stopped_.store(true);
      while (!may_go_on_.load()) usleep(50);
      is_stopped_.store(false);
    };
    sigaction(SIGUSR1, &action, nullptr);
    thread_ = std::thread([this] {
      const cache_guard cache(1);
      use_allocator(20);  // what is needed is in the cache
      is_warm_.release();
      while (!ends_.load()) use_allocator(20);
    });
    is_warm_.acquire();
  }
  ~stopped_pe() {
    ends_.store(true);
    go_on();
    thread_.join();
    signal(SIGUSR1, SIG_DFL);
  }
  stopped_pe(const stopped_pe&) = delete;
  stopped_pe& operator=(const stopped_pe&) = delete;

  void stop() {
    may_go_on_.store(false);
    pthread_kill(thread_.native_handle(), SIGUSR1);
    while (!is_stopped_.load()) std::this_thread::yield();
  }
  void go_on() {
    may_go_on_.store(true);
    while (is_stopped_.load()) std::this_thread::yield();
  }

  static void use_allocator(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      std::array<void*, 50> blocks{};
      for (void*& block : blocks) block = allocate(200);
      for (void* const block : blocks) release(block);
    }
  }

 private:
  inline static std::atomic<bool> is_stopped_{false};
  inline static std::atomic<bool> may_go_on_{true};
  std::atomic<bool> ends_{false};
  std::binary_semaphore is_warm_{0};
  std::thread thread_;
};

// Whether PE 0 comes through while PE 1 is stopped, each of some times at another point.
bool comes_through(allocator_kind kind, int times) {
  const open_arena arena(kind);
  std::atomic<int> done{0};
  std::atomic<int> asked{0};
  std::thread pe_0([&] {
    const cache_guard cache(0);
    stopped_pe::use_allocator(20);
    for (int turn = 1; turn <= times; ++turn) {
      while (asked.load() < turn) std::this_thread::yield();
      stopped_pe::use_allocator(20);
      done.store(turn);
    }
  });
  bool always = true;
  {
    stopped_pe other;
    for (int turn = 1; turn <= times; ++turn) {
      usleep(static_cast<useconds_t>(100 + 37 * turn % 200));
      other.stop();
      asked.store(turn);
      // Of the kind with a lock it may never be done before the other goes on; the others need no time limit.
      if (kind == allocator_kind::locked) {
        for (int wait = 0; wait < 200 && done.load() < turn; ++wait) usleep(1000);
        always = always && done.load() == turn;
      } else {
        while (done.load() < turn) usleep(100);
      }
      other.go_on();
      while (done.load() < turn) usleep(100);
    }
  }
  pe_0.join();
  return always;
}

TEST(allocators, of_pes_do_not_wait_for_each_other) {  // M13, M15
  if (os::under_thread_sanitizer) GTEST_SKIP() << "signals come late under the thread sanitizer";
  EXPECT_TRUE(comes_through(allocator_kind::caches, 100));
  EXPECT_TRUE(comes_through(allocator_kind::checked, 100));
  EXPECT_FALSE(comes_through(allocator_kind::locked, 20)) << "with a lock they do, so the test would see it";
}

}  // namespace
}  // namespace tri::arena
