// Rows measured in child processes: a command is started, the rows are the JSON lines it prints. Called from one thread
// of the benchmark program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/row.hpp"

namespace tri::bench {

// Starts the command (argv, looked up in PATH), waits for it, and calls on_line for each line of its standard output as
// it appears. Throws std::runtime_error that names the command when it cannot start, fails, or prints nothing for
// output_timeout_s seconds (it is then ended). A line equal to `last_line` is not passed on: the command has done its
// work, and is killed if it is still running 5 s later.
void process_lines(const std::vector<std::string>& command, const std::function<void(const std::string&)>& on_line,
                   double output_timeout_s, const std::string& last_line = {});

// Starts the command (argv, looked up in PATH), waits for it, and calls on_row for each line of its standard output
// that begins with '{', as it appears; other lines go to standard error, as does the command's standard error. Throws
// like process_lines, and for a line that is not a row.
void process_rows(const std::vector<std::string>& command, const std::function<void(row)>& on_row,
                  double output_timeout_s = 60);

}  // namespace tri::bench
