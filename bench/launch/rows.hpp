// The suite `launch`: how long a job takes to start (M77).
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

/// `program` is the command `trireme`, which starts the jobs and is their program.
std::vector<row_definition> launch_rows(const std::string& program);

/// The job that is started: its first PE prints when it began to run, and it ends. The exit status.
int serve_as_started_job();

}  // namespace tri::bench
