// The user heap of the MPI drop-in beside the C library's allocator: the cost of a block, of the first touch of a page,
// and of a fork. The program runs itself, in turns with and without the heap loaded before it, so that both see the
// same machine.
//
//   heap_bench [rounds]     default 5; prints per row the median over the rounds of each, and their ratio
//
// Times are processor time of the process, children not included. Each row of a round is itself the median of 15
// batches (5 where pages are touched). Blocks are of one thread unless the row says otherwise.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "os/child_process.hpp"

extern char** environ;

namespace {

// Processor time of this process, kernel included: the machine may be busy with others. Children are not in it.
double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Nanoseconds for one of the `operations` that a batch does.
template <typename Batch>
double nanoseconds(std::size_t operations, Batch&& batch, int batches = 15) {
  std::vector<double> found;
  for (int index = 0; index < batches; ++index) {
    const double start = now_ns();
    batch();
    found.push_back((now_ns() - start) / static_cast<double>(operations));
  }
  return median(found);
}

// The compiler knows malloc; so that it leaves calls where they are.
template <typename Type>
Type opaque(Type value) {
  asm volatile("" : "+r"(value) : : "memory");
  return value;
}

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t page = 4096;

void row(const char* name, double value) { std::printf("%s\t%.3f\n", name, value); }

void touch(char* block, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += page) block[offset] = 1;
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void resident_at_start() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) row("resident at start, KiB", std::atof(line.c_str() + 6));
}

void blocks() {
  const struct {
    const char* name;
    std::size_t bytes;
  } sizes[] = {{"malloc+free 64 B, ns", 64},
               {"malloc+free 1 KiB, ns", 1024},
               {"malloc+free 64 KiB, ns", 65536},
               {"malloc+free 1 MiB, ns", mib}};
  for (const auto& size : sizes)
    row(size.name, nanoseconds(10000, [&] {
          for (int index = 0; index < 10000; ++index) std::free(opaque(std::malloc(size.bytes)));
        }));
  std::vector<void*> live(2048);
  row("1000 blocks of 64 B at a time, ns", nanoseconds(2000, [&] {
        for (std::size_t index = 0; index < 1000; ++index) live[index] = std::malloc(64);
        for (std::size_t index = 0; index < 1000; ++index) std::free(live[index]);
      }));
  std::fill(live.begin(), live.end(), nullptr);
  unsigned random = 1;
  row("random sizes up to 2 KiB, 2048 live, ns", nanoseconds(20000, [&] {
        for (int index = 0; index < 20000; ++index) {
          random = random * 1664525U + 1013904223U;
          void*& one = live[random >> 21];
          std::free(one);
          one = std::malloc((random >> 9 & 2047U) + 1);
        }
      }));
  for (void* one : live) std::free(one);
  std::vector<void*> handed(20000);
  row("64 B, freed by another thread, ns", nanoseconds(handed.size(), [&] {
        for (void*& one : handed) one = std::malloc(64);
        std::thread([&] {
          for (void* one : handed) std::free(one);
        }).join();
      }));
}

void pages() {
  constexpr std::size_t bytes = 128 * mib;
  row("first touch, ns per page", nanoseconds(
                                      bytes / page,
                                      [] {
                                        auto* const block = static_cast<char*>(opaque(std::malloc(bytes)));
                                        touch(block, bytes);
                                        std::free(block);
                                      },
                                      5));
  row("8 MiB allocated, touched, freed, ns per page", nanoseconds(8 * mib / page, [] {
        auto* const block = static_cast<char*>(opaque(std::malloc(8 * mib)));
        touch(block, 8 * mib);
        std::free(block);
      }));
}

void children() {
  constexpr std::size_t bytes = 256 * mib;
  auto* const block = static_cast<char*>(opaque(std::malloc(bytes)));
  touch(block, bytes);
  row("fork with 256 MiB in use, us", nanoseconds(
                                          1000,
                                          [] {
                                            const pid_t child = fork();
                                            if (child == 0) _exit(0);
                                            status_of(child);
                                          },
                                          5));
  char name[] = "/bin/true";
  char* const arguments[] = {name, nullptr};
  row("posix_spawn with 256 MiB in use, us", nanoseconds(1000, [&] {
        pid_t child = 0;
        if (posix_spawn(&child, name, nullptr, nullptr, arguments, environ) == 0) status_of(child);
      }));
  std::free(block);
}

// In a process with these variables.
std::map<std::string, double> measure(std::vector<std::string> variables, std::vector<std::string>& order) {
  const tri::os::program_end end =
      tri::os::run_program({.arguments = {"heap_bench", "--measure"},
                            .path = "/proc/self/exe",
                            .environment = tri::os::environment_with(std::move(variables))});
  std::map<std::string, double> rows;
  if (end.status != 0) return rows;
  std::istringstream lines(end.output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string name = line.substr(0, tab);
    rows[name] = std::atof(line.c_str() + tab + 1);
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  }
  return rows;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::string(arguments[1]) == "--measure") {
    resident_at_start();
    blocks();
    pages();
    children();
    return 0;
  }
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 5;
  if (rounds < 1) {
    std::fprintf(stderr, "heap_bench: '%s' is not a number of rounds; give a positive number, such as 5\n",
                 arguments[1]);
    return 2;
  }
  std::vector<std::string> order;
  std::map<std::string, std::vector<double>> plain;
  std::map<std::string, std::vector<double>> heap;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [name, value] : measure({}, order)) plain[name].push_back(value);
    const std::vector<std::string> with = {"TRIREME_MPI_JOB=heap_bench." + std::to_string(getpid()),
                                           "LD_PRELOAD=" HEAP_LIBRARY};
    for (const auto& [name, value] : measure(with, order)) heap[name].push_back(value);
  }
  std::printf("| median of %d rounds | C library | user heap | ratio |\n|---|---|---|---|\n", rounds);
  for (const std::string& name : order) {
    if (plain[name].empty() || heap[name].empty()) {
      std::fprintf(stderr, "heap_bench: a run with%s the user heap failed\n", heap[name].empty() ? "" : "out");
      return 1;
    }
    const double before = median(plain[name]);
    const double after = median(heap[name]);
    std::printf("| %s | %.1f | %.1f | %.2f |\n", name.c_str(), before, after, after / before);
  }
  return 0;
}
