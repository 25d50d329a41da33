#include "framework/children.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "framework/process_rows.hpp"

namespace tri::bench {
namespace {

// Runs its arguments, with what the environment has in the places of two of them: HOSTS and HOST_SHELL.
const char* const with_words_of_the_hosts =
    "for word do shift; case $word in HOSTS) word=$HOSTS ;; HOST_SHELL) word=$HOST_SHELL ;; esac; "
    "set -- \"$@\" \"$word\"; done; exec \"$@\"";

}  // namespace

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
  const launch where = rows.front()->launch.value_or(launch{});
  std::vector<std::string> command = where.on_hosts;
  const auto add = [&command](const std::vector<std::string>& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  if (!where.on_hosts.empty()) add({"sh", "-c", with_words_of_the_hosts, "sh"});
  add(self.launcher);
  add({"run", "-n", std::to_string(where.processes), "--pes", std::to_string(where.pes)});
  if (!where.on_hosts.empty()) add({"--hosts", "HOSTS", "--rsh", "HOST_SHELL"});
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
  const launch& where = *rows[group.front()]->launch;
  if (where.why_not != nullptr && !where.why_not().empty())
    for (; done < group.size(); ++done) finished(group[done], unavailable_row(*rows[group[done]], where.why_not()));
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
