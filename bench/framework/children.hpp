// Rows that need PEs: measured by `trireme bench --emit-row ...` under `trireme run`, one such program for all rows of
// the same launch. When it fails, the row it was at is reported as failed and the rest is tried again in a new one.
// Called from the main thread of the benchmark program.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "framework/progress.hpp"
#include "framework/runner.hpp"

namespace tri::bench {

// Indices of the rows, those of one launch (or without any) together; groups and their rows in order of appearance.
std::vector<std::vector<std::size_t>> rows_by_launch(const std::vector<const row_definition*>& rows);

// The command that measures these rows, which share a launch.
std::vector<std::string> child_command(const std::vector<const row_definition*>& rows, const run_options& options,
                                       const program& self);

// Measures the rows `group` of `rows` and calls finished(index, row) for each as soon as it is there.
void measure_in_children(const std::vector<const row_definition*>& rows, const std::vector<std::size_t>& group,
                         const run_options& options, const program& self, progress_line& progress,
                         const std::function<void(std::size_t, row)>& finished);

}  // namespace tri::bench
