// The kernels, run by a runtime. Included by the file of each competitor, so that the loops are compiled as a user of
// that runtime would compile them.
// A Runtime has schedules(), name(), and loop(schedule, place, n, body), which calls body(0) ... body(n - 1) and
// returns when all have run; `place` distinguishes the loops of the suite, for runtimes that remember. These have
// forget(schedule, place) too. One in which threads can stay together from loop to loop has region(schedule, steps, n,
// body), which calls body(step, 0) ... body(step, n - 1) for one step after the other.
#pragma once

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "framework/pinned_thread.hpp"
#include "loops/competitor.hpp"
#include "loops/real_kernels.hpp"
#include "loops/work.hpp"
#include "os/clock.hpp"

namespace tri::bench {

static_assert(first_grid_place + coarse_grids::loops == warm_up_place);

template <class Runtime>
class competitor_of final : public competitor {
 public:
  explicit competitor_of(const comparison_setup& setup) : setup_(setup), runtime_(setup) {}

  std::string name() const override { return runtime_.name(); }
  std::vector<std::string> schedules() const override { return runtime_.schedules(); }

  batch_reply run(const batch_request& request) override {
    prepare(request.which);
    find_digest(request);
    const auto switches = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return usage.ru_nivcsw;
    };
    const long before = switches();
    batch_reply reply = run_kernel(request);
    reply.disturbed = switches() != before;
    return reply;
  }

  double shared_part(std::size_t schedule) override {
    constexpr int loops = 200;
    int shared = 0;
    std::array<std::thread::id, 2> who;
    for (int i = 0; i < 2 * loops; ++i) {
      runtime_.loop(schedule, place_of(kernel::pair), 2,
                    [&who](int index) { who[static_cast<std::size_t>(index)] = std::this_thread::get_id(); });
      if (i >= loops && who[0] != who[1]) ++shared;
    }
    return static_cast<double>(shared) / loops;
  }

 private:
  static std::size_t place_of(kernel which) { return static_cast<std::size_t>(which); }

  // The data of one kernel at a time.
  void prepare(kernel which) {
    if (prepared_ == which) return;
    costs_.clear();
    field_.reset();
    real_ = std::monostate();
    digests_.clear();
    const auto iterations = static_cast<std::size_t>(iterations_of(which));
    const double us = setup_.steps_per_us;
    switch (which) {
      case kernel::small:
        costs_ = make_costs(cost_shape::uniform, iterations, 0.088 * us);
        break;
      case kernel::uniform:
        costs_ = make_costs(cost_shape::uniform, iterations, us);
        break;
      case kernel::linear:
        costs_ = make_costs(cost_shape::linear, iterations, us);
        break;
      case kernel::heavy_tail:
        costs_ = make_costs(cost_shape::heavy_tail, iterations, us);
        break;
      case kernel::concurrent:
        costs_ = make_costs(cost_shape::uniform, iterations, 0.2 * us);
        break;
      case kernel::sweep_l2:
        field_.emplace(std::size_t{3} << 19);
        break;
      case kernel::sweep_l3:
        field_.emplace(std::size_t{16} << 20);
        break;
      case kernel::sweep_dram:
        field_.emplace(std::size_t{256} << 20);
        break;
      case kernel::coarse_grids:
        real_.emplace<coarse_grids>();
        break;
      case kernel::barrier_steps:
        real_.emplace<barrier_steps>(static_cast<std::uint32_t>(0.1 * us));
        break;
      case kernel::sparse_rows:
        real_.emplace<sparse_rows>();
        break;
      case kernel::sorted_graph:
        real_.emplace<sorted_graph>();
        break;
      case kernel::one:
      case kernel::pair:
      case kernel::cold_pair:
      case kernel::empty:
        break;
    }
    prepared_ = which;
  }

  // The runner of a real kernel's loops: the runtime, or plain loops for the reference result.
  struct shared_loops {
    Runtime& runtime;
    std::size_t schedule;
    std::size_t place;
    template <class Body>
    void loop(std::size_t number, int n, const Body& body) {
      runtime.loop(schedule, place + number, n, body);
    }
    template <class Body>
    void region(std::uint32_t steps, int n, const Body& body) {
      if constexpr (requires { runtime.region(schedule, steps, n, body); }) {
        runtime.region(schedule, steps, n, body);
      } else {
        for (std::uint32_t step = 0; step < steps; ++step)
          runtime.loop(schedule, place, n, [body, step](int i) { body(step, i); });
      }
    }
  };
  struct plain_loops {
    template <class Body>
    void loop(std::size_t, int n, const Body& body) {
      for (int i = 0; i < n; ++i) body(i);
    }
    template <class Body>
    void region(std::uint32_t steps, int n, const Body& body) {
      for (std::uint32_t step = 0; step < steps; ++step) {
        for (int i = 0; i < n; ++i) body(step, i);
      }
    }
  };

  // Of the executions of a batch, unless it is known from an earlier one.
  void find_digest(const batch_request& request) {
    const std::uint32_t executions = request.warm_up + request.loops;
    if (digests_.contains(executions)) return;
    const auto find = [&](auto& data) {
      if constexpr (!std::is_same_v<decltype(data), std::monostate&>) {
        plain_loops alone;
        data.reset();
        data.run(alone, executions);
        digests_[executions] = data.digest();
      }
    };
    std::visit(find, real_);
  }

  batch_reply run_kernel(const batch_request& request) {
    if (request.which == kernel::concurrent) return run_two(request);
    const auto run = [&](auto& data) {
      if constexpr (std::is_same_v<decltype(data), std::monostate&>)
        return run_one(request);
      else
        return run_real(request, data);
    };
    return std::visit(run, real_);
  }

  template <class Kernel>
  batch_reply run_real(const batch_request& request, Kernel& data) {
    const std::size_t place = request.which == kernel::coarse_grids ? first_grid_place : place_of(request.which);
    shared_loops warm_up{runtime_, request.schedule, request.first ? warm_up_place : place};
    shared_loops timed{runtime_, request.schedule, place};
    data.reset();
    data.run(warm_up, request.warm_up);
    double total_ns = 0;
    const auto time = [&](std::uint32_t executions) {
      const std::int64_t start_ns = os::now_ns();
      data.run(timed, executions);
      total_ns += static_cast<double>(os::now_ns() - start_ns);
    };
    if (!request.first) time(request.loops);
    for (std::uint32_t i = 0; request.first && i < request.loops; ++i) {
      if constexpr (requires { runtime_.forget(request.schedule, place); }) runtime_.forget(request.schedule, place);
      time(1);
    }
    return {.loop_ns = total_ns / request.loops,
            .wrong = data.digest() != digests_.at(request.warm_up + request.loops)};
  }

  // One loop of the kernel. `place` of its own for each thread of the program.
  void loop_once(kernel which, std::size_t schedule, std::size_t place) {
    if (field_.has_value()) {
      const double* const from = field_->from();
      double* const to = field_->to();
      runtime_.loop(schedule, place, field_->rows(), [from, to](int row) { sweep_row(from, to, row); });
      field_->swap();
    } else if (!costs_.empty()) {
      const std::uint32_t* const costs = costs_.data();
      runtime_.loop(schedule, place, static_cast<int>(costs_.size()), [costs](int i) { work_steps(costs[i]); });
    } else {
      runtime_.loop(schedule, place, static_cast<int>(iterations_of(which)), [](int i) {
        asm volatile("" : : "r"(i));
      });
    }
  }

  batch_reply run_one(const batch_request& request) {
    const std::size_t place = place_of(request.which);
    for (std::uint32_t i = 0; i < request.warm_up; ++i) loop_once(request.which, request.schedule, place);
    if (request.which != kernel::cold_pair) return {.loop_ns = time_loops(request, place)};
    double total_ns = 0;
    for (std::uint32_t i = 0; i < request.loops; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::int64_t start_ns = os::now_ns();
      loop_once(request.which, request.schedule, place);
      total_ns += static_cast<double>(os::now_ns() - start_ns);
    }
    return {.loop_ns = total_ns / request.loops};
  }

  double time_loops(const batch_request& request, std::size_t place) {
    const std::int64_t start_ns = os::now_ns();
    for (std::uint32_t i = 0; i < request.loops; ++i) loop_once(request.which, request.schedule, place);
    return static_cast<double>(os::now_ns() - start_ns) / request.loops;
  }

  // The calling thread and another, on the other core.
  batch_reply run_two(const batch_request& request) {
    if (!second_.has_value()) second_.emplace(setup_.second_cpu);
    // One clock for both: a thread that starts late also counts as slow.
    std::atomic<int> arrived{0};
    std::atomic<std::int64_t> start_ns{0};
    std::array<double, 2> loop_ns{};
    const auto work = [&](std::size_t which) {
      const std::size_t place = place_of(request.which) + which * kernels;
      for (std::uint32_t i = 0; i < request.warm_up; ++i) loop_once(request.which, request.schedule, place);
      // relaxed: counting and the number itself are all there is
      if (arrived.fetch_add(1, std::memory_order_relaxed) == 1) start_ns.store(os::now_ns(), std::memory_order_relaxed);
      while (start_ns.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
      for (std::uint32_t i = 0; i < request.loops; ++i) loop_once(request.which, request.schedule, place);
      loop_ns[which] = static_cast<double>(os::now_ns() - start_ns.load(std::memory_order_relaxed)) / request.loops;
    };
    second_->start([&] { work(1); });
    work(0);
    second_->wait();
    const double mean = (loop_ns[0] + loop_ns[1]) / 2;
    return {.loop_ns = mean, .difference = std::abs(loop_ns[0] - loop_ns[1]) / mean};
  }

  comparison_setup setup_;
  Runtime runtime_;
  std::optional<kernel> prepared_;
  std::vector<std::uint32_t> costs_;
  std::optional<sweep_field> field_;
  std::variant<std::monostate, coarse_grids, barrier_steps, sparse_rows, sorted_graph> real_;
  std::map<std::uint32_t, std::uint64_t> digests_;  // the results of one thread, by number of executions
  std::optional<pinned_thread> second_;
};

}  // namespace tri::bench
