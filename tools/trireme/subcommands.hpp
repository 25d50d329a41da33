// The subcommands of the command line. To add one: write <name>_command.cpp with a function of this shape, declare
// it here, and add its line to the table in subcommands.cpp.
#pragma once

#include <string>
#include <vector>

namespace tri::tools {

struct subcommand {
  const char* name;
  const char* summary;
  int (*run)(int argc,
             char** argv);  // argv[0] is "trireme <command>"; returns the exit status; may throw for main() to print
  bool takes_job_options = false;  // --tri-<name>
};

const std::vector<subcommand>& subcommands();

int run_command(int argc, char** argv);
int agent_command(int argc, char** argv);
int exec_command(int argc, char** argv);
int info_command(int argc, char** argv);
int model_command(int argc, char** argv);
int bench_command(int argc, char** argv);
int noise_command(int argc, char** argv);
int omp_rewrite_command(int argc, char** argv);
int tune_command(int argc, char** argv);
int repeat_command(int argc, char** argv);
int advise_command(int argc, char** argv);
int sweep_command(int argc, char** argv);
int resize_command(int argc, char** argv);
int balance_command(int argc, char** argv);
int layout_command(int argc, char** argv);
int plan_command(int argc, char** argv);
int sim_command(int argc, char** argv);
int top_command(int argc, char** argv);
int trace_command(int argc, char** argv);
int completion_command(int argc, char** argv);
int manual_command(int argc, char** argv);

}  // namespace tri::tools
