// A test of several processes: they are forked, each runs a function, and what a function throws fails the test. They
// share a table of addresses, counters and barriers. The processes must be forked before any thread or UCX exists, so
// the parent only waits.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "os/child_process.hpp"

namespace tri::wire::test {

inline constexpr std::size_t most_processes = 8;

/// In memory that all processes share.
struct shared_by_processes {
  std::array<std::array<std::byte, 4096>, most_processes> addresses;
  // The address is there once its size is not 0. pairs: shared.address
  std::array<std::atomic<std::size_t>, most_processes> address_bytes;
  std::array<std::atomic<std::uint64_t>, 16> marks;  // for the test; seq_cst, all
  std::array<char, 4096> complaint;

  void publish(std::size_t process, std::span<const std::byte> address) {
    if (address.size() > addresses[process].size()) throw std::runtime_error("an address of more than 4096 bytes");
    std::memcpy(addresses[process].data(), address.data(), address.size());
    address_bytes[process].store(address.size(), std::memory_order_release);  // pairs: shared.address
  }
  std::vector<std::byte> address_of(std::size_t process) {
    std::size_t bytes = 0;
    while ((bytes = address_bytes[process].load(std::memory_order_acquire)) == 0) usleep(200);  // pairs: shared.address
    return {addresses[process].begin(), addresses[process].begin() + static_cast<std::ptrdiff_t>(bytes)};
  }
  void await_mark(std::size_t mark, std::uint64_t value) {
    while (marks[mark].load() < value) usleep(200);
  }
};

struct process_end {
  int status = 0;  // of waitpid
  bool clean() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  bool killed_by(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
};

struct ended_processes {
  std::vector<process_end> ends;
  std::string complaint;  // of the first that threw
};

/// Runs `body(process, shared)` in `count` processes and waits for all.
inline ended_processes run_processes(std::size_t count,
                                     const std::function<void(unsigned, shared_by_processes&)>& body) {
  void* const memory =
      mmap(nullptr, sizeof(shared_by_processes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* const shared = new (memory) shared_by_processes{};
  std::vector<pid_t> children;
  for (unsigned process = 0; process < count; ++process) {
    children.push_back(os::start_function([&] {
      int status = 0;
      try {
        body(process, *shared);
      } catch (const std::exception& failure) {
        std::snprintf(shared->complaint.data(), shared->complaint.size(), "process %u: %s", process, failure.what());
        std::fprintf(stderr, "%s\n", shared->complaint.data());
        status = 1;
      }
      std::fflush(nullptr);
      return status;
    }));
  }
  ended_processes result;
  result.ends.resize(count);
  bool failed = false;
  for (std::size_t ended = 0; ended < count; ++ended) {
    int status = 0;
    const pid_t child = wait(&status);
    for (std::size_t i = 0; i < count; ++i)
      if (children[i] == child) result.ends[i].status = status;
    // The others would wait for it for ever.
    if (!failed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0) && !WIFSIGNALED(status)) {
      failed = true;
      for (const pid_t other : children)
        if (other != child) kill(other, SIGTERM);
    }
  }
  result.complaint = shared->complaint.data();
  munmap(memory, sizeof(shared_by_processes));
  return result;
}

}  // namespace tri::wire::test
