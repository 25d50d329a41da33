#include "verbs.hpp"

namespace tri::tools {

const std::vector<verb>& verbs() {
  static const std::vector<verb> all{
      {"run", "start a program as one or several processes", run_command, true},
      {"exec", "run an unmodified MPI or OpenMP program, with our messages or loop schedules", exec_command},
      {"omp-rewrite", "make static OpenMP loops of source files schedulable", omp_rewrite_command},
      {"info", "show the machine, its shared memory, its counters and the tunables", info_command, true},
      {"noise", "show what disturbs the cores, and which schedule makes up for it", noise_command},
      {"tune", "find the best loop schedules of a program by running it under many", tune_command},
      {"repeat", "run a program again and again and say how much the times differ", repeat_command},
      {"trace", "report what a trace of a program says, and draw it", trace_command},
      {"model", "work out how long messages wait and how many a broadcast sends", model_command},
      {"agent", "what `run --hosts` starts on other hosts; not for people", agent_command},
      {"bench", "measure messages, loops, ... and compare with the targets", bench_command},
      {"completion", "print what makes a shell complete this command", completion_command},
      {"manual", "write the manual pages of this command into a folder", manual_command},
  };
  return all;
}

}  // namespace tri::tools
