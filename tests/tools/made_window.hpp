// A process with a window as tests of `trireme top` want it: the calling one, which offers the file as processes of
// jobs do; it has one row with one figure, "idle". Or a child that does nothing else.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "arena/heap.hpp"
#include "live/live_page.hpp"
#include "os/clock.hpp"

namespace tri::testing {

class made_window {
 public:
  static live::page usual_facts() {
    return {.kind = live::job_kind::objects,
            .pid = getpid(),
            .processes = 1,
            .hosts = 1,
            .rows_of_job = 1,
            .first_pid = getpid(),
            .job = static_cast<std::uint64_t>(getpid()),
            .began_ticks = os::ticks(),
            .ns_per_tick = 1};
  }

  explicit made_window(const live::page& facts = usual_facts()) : file_(memfd_create("trireme-arena", 0)) {
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(bytes)), 0);
    memory_ = static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    new (memory_) arena::window_header{
        arena::window_header::expected_magic, arena::window_header::expected_version, 0, bytes, 0, page_at, 3, 1 << 20};
    const live::figure_place idle{"idle", live::figure_kind::idle, 0, 0};
    const live::row_place row{.number = facts.process, .blocks = {memory_ + 8192, nullptr}, .inbox = {}};
    live::write_page(memory_ + page_at, facts, {&idle, 1}, {&row, 1}, memory_);
  }
  ~made_window() {
    munmap(memory_, bytes);
    close(file_);
  }
  made_window(const made_window&) = delete;
  made_window& operator=(const made_window&) = delete;

  static constexpr std::size_t bytes = std::size_t{1} << 20;
  static constexpr std::uint64_t page_at = 4096;
  arena::window_header& header() { return *reinterpret_cast<arena::window_header*>(memory_); }
  live::page& page() { return *reinterpret_cast<live::page*>(memory_ + page_at); }
  live::figure& figure() { return *reinterpret_cast<live::figure*>(memory_ + page_at + sizeof(live::page)); }
  live::row& row() {
    return *reinterpret_cast<live::row*>(memory_ + page_at + sizeof(live::page) + sizeof(live::figure));
  }

 private:
  int file_;
  std::byte* memory_;
};

/// A child of this process with such a window, which is complete when this is made.
class process_with_window {
 public:
  /// `facts` of the window but for the pid.
  explicit process_with_window(live::page facts) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // it must not outlive a test that is killed
      facts.pid = getpid();
      const made_window window(facts);
      const bool is_complete = write(ends[1], "!", 1) == 1;
      while (is_complete) pause();
      _exit(1);
    }
    close(ends[1]);
    char is_complete = 0;
    EXPECT_EQ(read(ends[0], &is_complete, 1), 1);
    close(ends[0]);
  }
  ~process_with_window() {
    if (pid_ > 0) end();
  }
  process_with_window(const process_with_window&) = delete;
  process_with_window& operator=(const process_with_window&) = delete;

  pid_t pid() const { return pid_; }
  /// It has ended when this returns.
  void end() {
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace tri::testing
