#include "framework/children.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "framework/process_rows.hpp"

namespace tri::bench {

std::vector<std::vector<std::size_t>> rows_by_launch(const std::vector<const row_definition*>& rows) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t which = 0; which < rows.size(); ++which) {
    const auto same = [&](const std::vector<std::size_t>& group) {
      return rows[group.front()]->launch == rows[which]->launch;
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({which});
    } else {
      found->push_back(which);
    }
  }
  return groups;
}

std::vector<std::string> child_command(const std::vector<const row_definition*>& rows, const run_options& options,
                                       const program& self) {
  std::vector<std::string> command = self.launcher;
  const auto add = [&command](const std::vector<std::string>& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  const launch where = rows.front()->launch.value_or(launch{});
  add({"run", "-n", std::to_string(where.processes), "--pes", std::to_string(where.pes)});
  add(where.options);
  add({"--"});
  add(self.launcher);
  add({"bench"});
  for (const row_definition* row : rows) add({"--emit-row", row->name});
  if (options.quick) add({"--quick"});
  if (options.repetitions) add({"--repetitions", std::to_string(*options.repetitions)});
  if (options.min_time_s) add({"--min-time", fmt::format("{}", *options.min_time_s)});
  add(options.suite_arguments);
  return command;
}

void measure_in_children(const std::vector<const row_definition*>& rows, const std::vector<std::size_t>& group,
                         const run_options& options, const program& self, progress_line& progress,
                         const std::function<void(std::size_t, row)>& finished) {
  std::size_t done = 0;
  while (done < group.size()) {
    std::vector<const row_definition*> rest;
    for (std::size_t position = done; position < group.size(); ++position) rest.push_back(rows[group[position]]);
    progress.show(rest.front()->name);
    try {
      process_rows(child_command(rest, options, self), [&](row measured) {
        if (done == group.size() || measured.name != rows[group[done]]->name) {
          throw std::runtime_error(fmt::format("it printed row '{}' out of turn", measured.name));
        }
        finished(group[done++], std::move(measured));
        if (done < group.size()) progress.show(rows[group[done]]->name);
      });
      if (done < group.size()) throw std::runtime_error("its program ended without measuring it");
    } catch (const std::exception& failure) {
      if (done == group.size()) {
        // All rows are there, but the program did not end well: that must not pass in silence.
        fmt::print(stderr, "{}\n", failure.what());
        finished(group.back(), failed_row(*rows[group.back()], failure.what()));
        return;
      }
      finished(group[done], failed_row(*rows[group[done]], failure.what()));
      ++done;
    }
  }
}

}  // namespace tri::bench
