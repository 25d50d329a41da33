// The rows of the suite `balance`, one function for each file of this folder.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> balancing_rows();
std::vector<row_definition> seed_rows();
/// `program` is the command `trireme`, which starts the jobs that lose a process.
std::vector<row_definition> checkpoint_rows(const std::string& program);

/// The job of the rows `recovery`: writes a checkpoint of so many MiB in memory and kills one of its processes;
/// restarted, it prints when it goes on. The exit status.
int serve_as_surviving_job(int blocks);
/// `program` is the command whose `top` watches.
std::vector<row_definition> watched_rows(const std::string& program);
/// `program` is the command that starts them: <program> run ...
std::vector<row_definition> balanced_program_rows(const std::string& program);

}  // namespace tri::bench
