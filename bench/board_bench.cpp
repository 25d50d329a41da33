// The cost of fork/join, chunk dispatch and an empty poll of the board with two PEs (threads, each on its own core),
// beside libgomp and the raw hand-off of a cache line in the same run. Prints median, p10 and p90 over many short
// batches.
//   board_bench [first_cpu second_cpu]
// Rows "both take part": the poster leaves the other's range alone, so that every fork and join crosses the cores; with
// stealing a poster finishes an empty loop alone before any helper could come, which measures nothing.
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "board/board.hpp"
#include "os/cpu/cpu_hints.hpp"

namespace {

using namespace tri::board;
using clock_type = std::chrono::steady_clock;

constexpr int batches = 301;

double now_ns() { return std::chrono::duration<double, std::nano>(clock_type::now().time_since_epoch()).count(); }

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    std::fprintf(stderr, "board_bench: cannot run on CPU %d\n", cpu);
    std::exit(1);
  }
}

// Dependent multiplications, about a nanosecond each: no memory, no vectors.
std::uint64_t spin_work(std::uint64_t steps) {
  std::uint64_t value = steps | 1;
  for (std::uint64_t step = 0; step < steps; ++step) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
  return value;
}

std::uint64_t steps_per_us() {
  static const std::uint64_t steps = [] {
    double best = 1e30;
    for (int attempt = 0; attempt < 20; ++attempt) {
      const double start = now_ns();
      spin_work(100000);
      best = std::min(best, now_ns() - start);
    }
    return static_cast<std::uint64_t>(100000 * 1000 / best);
  }();
  return steps;
}

void work_on_items(const task_view& task, std::uint64_t first, std::uint64_t last, int) noexcept {
  if (task.arguments[0] == 0) return;
  for (std::uint64_t item = first; item < last; ++item) spin_work(task.arguments[0]);
}

void print_row(const std::string& name, std::vector<double> values, const char* unit) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  std::printf("%-52s %9.3f %9.3f %9.3f  %s\n", name.c_str(), at(0.5), at(0.1), at(0.9), unit);
}

// `operation(n)` does it n times; the row is nanoseconds (or microseconds) for one.
void measure(const std::string& name, int repeat, double unit_ns, const char* unit,
             const std::function<void(int)>& operation) {
  std::vector<double> values;
  operation(repeat);
  for (int batch = 0; batch < batches; ++batch) {
    const double start = now_ns();
    operation(repeat);
    values.push_back((now_ns() - start) / repeat / unit_ns);
  }
  print_row(name, values, unit);
}

void measure_handoff(int first_cpu, int second_cpu) {
  alignas(64) static std::atomic<std::uint64_t> turn{0};
  std::atomic<bool> stop{false};
  std::thread partner([&] {
    pin_to(second_cpu);
    while (!stop.load(std::memory_order_relaxed)) {                          // relaxed: only ends the loop
      const std::uint64_t value = turn.load(std::memory_order_acquire);      // pairs: lead
      if (value % 2 == 1) turn.store(value + 1, std::memory_order_release);  // follow
    }
  });
  pin_to(first_cpu);
  measure("cache line hand-off, one way", 1000, 2.0, "ns", [&](int repeat) {
    for (int round = 0; round < repeat; ++round) {
      const std::uint64_t value = turn.load(std::memory_order_relaxed);  // relaxed: it is our turn
      turn.store(value + 1, std::memory_order_release);                  // lead
      while (turn.load(std::memory_order_acquire) != value + 2) {        // pairs: follow
      }
    }
  });
  stop = true;
  partner.join();
}

struct two_pes {
  two_pes() {
    const board_shape shape{{0, 0}};
    const std::size_t bytes = board::required_bytes(shape);
    memory = {static_cast<std::byte*>(::operator new(bytes, std::align_val_t{4096})), bytes};
    operation = operations.chunks.add("work", work_on_items);
    view.emplace_back(board::initialise(memory, shape, operations));
  }
  ~two_pes() { ::operator delete(memory.data(), std::align_val_t{4096}); }

  operation_table operations;
  operation_id operation;
  std::span<std::byte> memory;
  std::vector<board> view;
};

task_spec loop_of(const two_pes& host, std::uint64_t items, std::uint64_t steps, double static_fraction,
                  std::uint64_t chunk = 1) {
  task_spec spec;
  spec.operation = host.operation;
  spec.arguments[0] = steps;
  spec.total = items;
  spec.chunk = chunk;
  spec.participants = 2;
  spec.static_fraction = static_fraction;
  return spec;
}

void fork_join_both(board_pe& pe, const task_spec& spec, int repeat) {
  for (int round = 0; round < repeat; ++round) {
    const task_handle task = pe.post(spec).handle;
    if (!task) std::abort();
    pe.run_own(task);
    while (!pe.finished(task)) tri::os::cpu_relax();
    pe.finish(task);
  }
}

void measure_board(int first_cpu, int second_cpu) {
  two_pes host;
  pin_to(first_cpu);
  board_pe pe = host.view[0].join(0);
  measure("board: empty check", 100000, 1.0, "ns", [&](int repeat) {
    for (int round = 0; round < repeat; ++round) {
      bool found = pe.has_work();
      asm volatile("" : "+r"(found));
    }
  });
  measure("board: help() with nothing open", 100000, 1.0, "ns", [&](int repeat) {
    for (int round = 0; round < repeat; ++round) {
      std::uint32_t found = pe.help();
      asm volatile("" : "+r"(found));
    }
  });
  measure("board: post + finish, no other PE there", 1000, 1.0, "ns", [&](int repeat) {
    const task_spec spec = loop_of(host, 2, 0, 1.0);
    for (int round = 0; round < repeat; ++round) pe.run(spec);
  });
  measure("board: one chunk after the other, no other PE there", 10, 200000.0, "ns/chunk", [&](int repeat) {
    const task_spec spec = loop_of(host, 200000, 0, 0.0);
    for (int round = 0; round < repeat; ++round) pe.run(spec);
  });

  std::atomic<bool> stop{false};
  std::thread helper([&] {
    pin_to(second_cpu);
    board_pe other = host.view[0].join(1);
    while (!stop.load(std::memory_order_relaxed)) {  // relaxed: only ends the loop
      if (other.help() == 0) tri::os::cpu_relax();
    }
  });
  const std::uint64_t us = steps_per_us();
  for (const std::uint64_t body : {0u, 1u, 2u, 5u, 10u}) {
    const task_spec spec = loop_of(host, 2, body * us, 1.0);
    const int repeat = body == 0 ? 500 : 100;
    measure("board: fork/join both take part, body " + std::to_string(body) + " us", repeat, 1000.0, "us",
            [&](int times) { fork_join_both(pe, spec, times); });
  }
  for (const std::uint64_t body : {1u, 2u, 5u, 10u}) {
    const task_spec spec = loop_of(host, 2, body * us, 1.0);
    measure("board: fork/join with stealing, body " + std::to_string(body) + " us", 100, 1000.0, "us", [&](int times) {
      for (int round = 0; round < times; ++round) pe.run(spec);
    });
  }
  for (const double part : {0.0, 0.5, 0.8}) {
    const task_spec spec = loop_of(host, 200, us * 88 / 1000, part);
    measure("board: 200 x 88 ns, static " + std::to_string(part).substr(0, 3) + " (ideal 8.8)", 20, 1000.0, "us",
            [&](int times) {
              for (int round = 0; round < times; ++round) pe.run(spec);
            });
  }
  measure("board: dispatch of 200000 chunks, static 0", 1, 100000.0, "ns*thread", [&](int times) {
    const task_spec spec = loop_of(host, 200000, 0, 0.0);
    for (int round = 0; round < times; ++round) pe.run(spec);
  });
  stop = true;
  helper.join();
}

void measure_libgomp(int first_cpu, int second_cpu) {
  const std::array cpus{first_cpu, second_cpu};
  omp_set_dynamic(0);
  omp_set_num_threads(2);
#pragma omp parallel
  pin_to(cpus[static_cast<std::size_t>(omp_get_thread_num())]);

  const std::uint64_t us = steps_per_us();
  for (const std::uint64_t body : {0u, 1u, 2u, 5u, 10u}) {
    const std::uint64_t steps = body * us;
    measure("libgomp: parallel for static, body " + std::to_string(body) + " us", body == 0 ? 500 : 100, 1000.0, "us",
            [&](int times) {
              for (int round = 0; round < times; ++round) {
#pragma omp parallel for schedule(static)
                for (int item = 0; item < 2; ++item) spin_work(steps);
              }
            });
  }
  measure("libgomp: parallel for dynamic,1, body 0 us", 500, 1000.0, "us", [&](int times) {
    for (int round = 0; round < times; ++round) {
#pragma omp parallel for schedule(dynamic, 1)
      for (int item = 0; item < 2; ++item) spin_work(0);
    }
  });
  measure("libgomp: 200 x 88 ns static", 20, 1000.0, "us", [&](int times) {
    for (int round = 0; round < times; ++round) {
#pragma omp parallel for schedule(static)
      for (int item = 0; item < 200; ++item) spin_work(us * 88 / 1000);
    }
  });
  measure("libgomp: dispatch of 200000 chunks, dynamic,1", 1, 100000.0, "ns*thread", [&](int times) {
    for (int round = 0; round < times; ++round) {
#pragma omp parallel for schedule(dynamic, 1)
      for (int item = 0; item < 200000; ++item) spin_work(0);
    }
  });
}

// The empty fork/join of both beside the hand-off, in turns: virtual cores move, and only neighbours in time compare.
void compare_fork_join(int first_cpu, int second_cpu) {
  measure_handoff(first_cpu, second_cpu);
  {
    two_pes host;
    board_pe pe = host.view[0].join(0);
    std::atomic<bool> stop{false};
    std::thread helper([&] {
      pin_to(second_cpu);
      board_pe other = host.view[0].join(1);
      while (!stop.load(std::memory_order_relaxed)) {  // relaxed: only ends the loop
        if (other.help() == 0) tri::os::cpu_relax();
      }
    });
    const task_spec spec = loop_of(host, 2, 0, 1.0);
    measure("  board: fork/join both take part", 500, 1000.0, "us",
            [&](int times) { fork_join_both(pe, spec, times); });
    stop = true;
    helper.join();
  }
  measure("  libgomp: parallel for static", 500, 1000.0, "us", [&](int times) {
    for (int round = 0; round < times; ++round) {
#pragma omp parallel for schedule(static)
      for (int item = 0; item < 2; ++item) spin_work(0);
    }
  });
}

}  // namespace

int main(int count, char** arguments) {
  const int first_cpu = count > 2 ? std::atoi(arguments[1]) : 0;
  const int second_cpu = count > 2 ? std::atoi(arguments[2]) : 1;
  std::printf("%-52s %9s %9s %9s\n", "", "median", "p10", "p90");
  measure_handoff(first_cpu, second_cpu);
  measure_board(first_cpu, second_cpu);
  measure_libgomp(first_cpu, second_cpu);
  for (int turn = 0; turn < 5; ++turn) compare_fork_join(first_cpu, second_cpu);
}
