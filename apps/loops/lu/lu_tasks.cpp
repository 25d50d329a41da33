// See lu_tasks.hpp.
#include "lu/lu_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

namespace kernels {
namespace {

// Early steps before late ones; in a step what frees other work first. The column next to the panel goes first, since
// the next panel waits for it.
auto urgency(const lu_task& task) {
  const std::uint32_t next = task.kind == lu_task_kind::panel ? 0 : task.column - task.step;
  return std::tuple(task.kind == lu_task_kind::panel ? 0 : next == 1 ? 1 : 2, task.step, task.column, task.row);
}
bool less_urgent(const lu_task& a, const lu_task& b) { return urgency(a) > urgency(b); }

std::uint32_t checked_tiles(const tiled_lu& lu, double static_fraction, std::uint32_t workers) {
  if (!(static_fraction >= 0.0 && static_fraction <= 1.0) || workers == 0) {
    throw std::invalid_argument(
        fmt::format("lu tasks: static fraction {} and {} workers; it must be 0 to 1, and at least one worker",
                    static_fraction, workers));
  }
  return static_cast<std::uint32_t>(lu.tiles());
}

std::uint64_t task_count(std::uint64_t tiles) {
  std::uint64_t count = 0;
  for (std::uint64_t rest = 0; rest < tiles; ++rest) count += 1 + rest + rest * rest;
  return count;
}

}  // namespace

lu_tasks::lu_tasks(tiled_lu& lu, double static_fraction, std::uint32_t workers)
    : lu_(lu),
      tiles_(checked_tiles(lu, static_fraction, workers)),
      static_columns_(static_cast<std::uint32_t>(std::lround(static_fraction * tiles_))),
      missing_(std::size_t{tiles_} * tiles_),
      updates_(std::size_t{tiles_} * tiles_),
      left_(task_count(tiles_)) {
  for (std::uint32_t rows = 1; rows * rows <= workers; ++rows) {
    if (workers % rows == 0) grid_rows_ = rows;
  }
  grid_columns_ = workers / grid_rows_;
  for (std::uint32_t number = 0; number < workers; ++number) workers_.emplace_back();
  for (std::uint32_t step = 0; step < tiles_; ++step) {
    for (std::uint32_t column = step + 1; column < tiles_; ++column) {
      // relaxed: no worker runs yet
      missing_[std::size_t{step} * tiles_ + column].store(step == 0 ? 1 : 2, std::memory_order_relaxed);
      updates_[std::size_t{step} * tiles_ + column].store(tiles_ - step - 1, std::memory_order_relaxed);
    }
  }
  push({lu_task_kind::panel, 0, 0, 0});
}

std::uint32_t lu_tasks::owner_of(const lu_task& task) const {
  if (task.column >= static_columns_) return nobody;
  return task.row % grid_rows_ * grid_columns_ + task.column % grid_columns_;
}

void lu_tasks::ready_list::push(const lu_task& task) {
  const std::lock_guard guard(lock);
  heap.push_back(task);
  std::push_heap(heap.begin(), heap.end(), less_urgent);
}

std::optional<lu_task> lu_tasks::ready_list::pop() {
  const std::lock_guard guard(lock);
  if (heap.empty()) return std::nullopt;
  std::pop_heap(heap.begin(), heap.end(), less_urgent);
  const lu_task task = heap.back();
  heap.pop_back();
  return task;
}

void lu_tasks::changed() {
  changes_.fetch_add(1, std::memory_order_release);  // pairs: lu_tasks.changes
  changes_.notify_all();
}

void lu_tasks::push(const lu_task& task) {
  const std::uint32_t owner = owner_of(task);
  (owner == nobody ? shared_ : workers_[owner].own).push(task);
  changed();
}

void lu_tasks::arrive(std::uint32_t number) {
  // relaxed: only keeps others from a list whose lock orders everything else
  workers_[number].arrived.store(true, std::memory_order_relaxed);
}

void lu_tasks::work(std::uint32_t number) {
  arrive(number);
  worker_state& self = workers_[number];
  for (;;) {
    // Read before looking: a task that comes after the look has changed it, so the wait below returns.
    const std::uint32_t seen = changes_.load(std::memory_order_acquire);  // pairs: lu_tasks.changes
    if (left_.load(std::memory_order_acquire) == 0) return;               // pairs: lu_tasks.left
    if (const std::optional<lu_task> task = take(number)) {
      run(*task);
      self.ran.push_back({*task, owner_of(*task), number});
      complete(*task);
    } else {
      changes_.wait(seen, std::memory_order_acquire);  // pairs: lu_tasks.changes
    }
  }
}

std::optional<lu_task> lu_tasks::take(std::uint32_t number) {
  if (auto own = workers_[number].own.pop()) return own;
  if (auto shared = shared_.pop()) return shared;
  for (worker_state& other : workers_) {
    if (other.arrived.load(std::memory_order_relaxed)) continue;  // relaxed: see arrive()
    if (auto left_behind = other.own.pop()) return left_behind;
  }
  return std::nullopt;
}

void lu_tasks::run(const lu_task& task) {
  switch (task.kind) {
    case lu_task_kind::panel:
      return lu_.panel(task.step);
    case lu_task_kind::apply:
      return lu_.apply(task.step, task.column);
    case lu_task_kind::update:
      return lu_.update(task.step, task.row, task.column);
  }
}

// One of the two dependences of apply (step, column) is met: the panel, or the column with all earlier updates.
void lu_tasks::column_is_ready(std::uint32_t step, std::uint32_t column) {
  // Both tasks' writes to the matrix must be visible to the worker that runs this one. pairs: itself, on the same
  // counter
  if (missing_[std::size_t{step} * tiles_ + column].fetch_sub(1, std::memory_order_acq_rel) == 1) {
    push({lu_task_kind::apply, step, step, column});
  }
}

void lu_tasks::complete(const lu_task& task) {
  const std::uint32_t step = task.step;
  switch (task.kind) {
    case lu_task_kind::panel:
      for (std::uint32_t column = step + 1; column < tiles_; ++column) column_is_ready(step, column);
      break;
    case lu_task_kind::apply:
      for (std::uint32_t row = step + 1; row < tiles_; ++row) push({lu_task_kind::update, step, row, task.column});
      break;
    case lu_task_kind::update:
      // pairs: itself, on the same counter; the last one sees what all the others wrote
      if (updates_[std::size_t{step} * tiles_ + task.column].fetch_sub(1, std::memory_order_acq_rel) == 1) {
        if (task.column == step + 1) {
          push({lu_task_kind::panel, step + 1, step + 1, step + 1});
        } else {
          column_is_ready(step + 1, task.column);
        }
      }
      break;
  }
  // pairs: lu_tasks.left
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) changed();
}

std::vector<lu_tasks::execution> lu_tasks::executions() const {
  std::vector<execution> all;
  for (const worker_state& each : workers_) all.insert(all.end(), each.ran.begin(), each.ran.end());
  return all;
}

}  // namespace kernels
