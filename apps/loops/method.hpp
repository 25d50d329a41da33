// How a kernel is run: by loops with a schedule of tri::loops, or, where the kernel has one, by a graph of tasks of
// which a fraction has fixed owners ("tasks,0.7"). Holds the memory of each loop of the kernel from run to run, so that
// methods do not learn from each other. One thread at a time.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "trireme/loops.hpp"

namespace kernels {

class method {
 public:
  /// Reads a schedule (docs: trireme/detail/schedules/loop_schedule.hpp) or `tasks[,fraction]`. Throws
  /// std::invalid_argument that describes the error.
  explicit method(const std::string& text);

  const std::string& text() const { return text_; }
  bool is_task_graph() const { return is_task_graph_; }
  /// Of the kinds that are given one: hybrid, tasklets, staggered, tasks.
  std::optional<double> static_fraction() const;
  /// For loop number 0, 1, ... of the kernel. Not while another loop of this method runs.
  tri::loop_options loop(std::size_t number);

 private:
  std::string text_;
  tri::schedules::schedule schedule_;
  bool is_task_graph_ = false;
  double task_fraction_ = 0.0;
  std::deque<tri::loops::loop_record> records_;  // a deque: records do not move
};

/// One text for each kind of schedule that there is, with its default parameters.
std::vector<std::string> all_schedules();

}  // namespace kernels
