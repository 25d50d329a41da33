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
// output_timeout_s seconds (it is then ended). A line that is `last_line` is not passed on: the command has done its
// work, and is ended when it has not come to its end 5 s later, whatever it does.
void process_lines(const std::vector<std::string>& command, const std::function<void(const std::string&)>& on_line,
                   double output_timeout_s, const std::string& last_line = {});

// Starts the command (argv, looked up in PATH), waits for it, and calls on_row for each line of its standard output
// that begins with '{', as it appears; other lines go to standard error, as does what the command writes there. Throws
// as process_lines does, and for a line that is no row.
void process_rows(const std::vector<std::string>& command, const std::function<void(row)>& on_row,
                  double output_timeout_s = 60);

}  // namespace tri::bench
