// The task graph of a tiled LU factorization with a hybrid static and dynamic split, after V. Kale, PhD dissertation,
// Illinois 2015, chapter 2 (dense LU): tasks that write the first part of the block columns belong to workers, by a 2-D
// block-cyclic map; tasks of the later columns have no owner. A worker takes from its own list of ready tasks first,
// then from the shared one.
//
// A worker that has nothing to do also takes from the list of an owner that has not arrived, so a factorization
// completes with any set of workers; tasks of an owner that has arrived run only there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "lu/tiled_lu.hpp"

namespace kernels {

enum class lu_task_kind : std::uint8_t { panel, apply, update };

struct lu_task {
  lu_task_kind kind = lu_task_kind::panel;
  std::uint32_t step = 0;
  std::uint32_t row = 0;  ///< of tiles; of a panel and an apply: the step's
  std::uint32_t column = 0;
};

class lu_tasks {
 public:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  struct execution {
    lu_task task;
    std::uint32_t owner = nobody;
    std::uint32_t worker = 0;
  };

  /// Throws std::invalid_argument when the fraction is not in 0 .. 1 or there are no workers.
  lu_tasks(tiled_lu& lu, double static_fraction, std::uint32_t workers);

  /// From now on only worker `number` runs its tasks; it must call work(). Any thread.
  void arrive(std::uint32_t number);
  /// Arrives, runs tasks, and returns when all have run. One thread per worker; numbers below workers().
  void work(std::uint32_t number);

  std::uint32_t workers() const { return static_cast<std::uint32_t>(workers_.size()); }
  std::uint32_t static_columns() const { return static_columns_; }
  std::uint32_t owner_of(const lu_task& task) const;
  /// What ran, worker by worker, each in its order. After work() has returned everywhere.
  std::vector<execution> executions() const;

 private:
  // Ready tasks, those on the critical path first.
  struct ready_list {
    std::mutex lock;
    std::vector<lu_task> heap;
    void push(const lu_task& task);
    std::optional<lu_task> pop();
  };
  struct alignas(64) worker_state {
    ready_list own;
    std::atomic<bool> arrived{false};
    std::vector<execution> ran;
  };

  std::optional<lu_task> take(std::uint32_t number);
  void run(const lu_task& task);
  void complete(const lu_task& task);
  void push(const lu_task& task);
  void column_is_ready(std::uint32_t step, std::uint32_t column);
  void changed();

  tiled_lu& lu_;
  std::uint32_t tiles_;
  std::uint32_t static_columns_;
  std::uint32_t grid_rows_ = 1;
  std::uint32_t grid_columns_ = 1;
  std::deque<worker_state> workers_;  // a deque: they do not move
  ready_list shared_;
  std::vector<std::atomic<std::uint32_t>> missing_;  // [step, column]: what apply still waits for
  std::vector<std::atomic<std::uint32_t>> updates_;  // [step, column]: updates that have not run
  std::atomic<std::uint64_t> left_;                  // tasks
  std::atomic<std::uint32_t> changes_{0};            // of any list; idle workers sleep on it
};

}  // namespace kernels
