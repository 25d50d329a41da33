#include "subcommands.hpp"

namespace tri::tools {

const std::vector<subcommand>& subcommands() {
  static const std::vector<subcommand> all{
      {"run", "start a program as one or several processes", run_command, true},
      {"exec", "run an unmodified MPI or OpenMP program with Trireme's shared-memory messages or loop schedules",
       exec_command},
      {"resize", "give a job that runs with --survive another number of processes", resize_command},
      {"omp-rewrite", "rewrite static OpenMP loops in source files to schedule(runtime)", omp_rewrite_command},
      {"info", "show the machine, its shared memory, its counters and the options", info_command, true},
      {"advise", "say how to split the cores of a host into processes", advise_command, true},
      {"noise", "measure OS noise on the cores, and suggest a schedule for it", noise_command},
      {"tune", "find the best loop schedules of a program by running it under many", tune_command},
      {"repeat", "run a program repeatedly and report the spread of its run times", repeat_command},
      {"sweep", "run a program with the cores split into processes in every way", sweep_command},
      {"top", "watch a running job: what each PE or rank does now", top_command},
      {"trace", "analyse and draw the trace of a program", trace_command},
      {"model", "model the waiting time of messages and the message count of broadcasts", model_command},
      {"plan", "show how a collective operation runs on hosts and ranks, and what it costs", plan_command},
      {"layout", "show which PE has which part of a global array, and what halos cost", layout_command},
      {"balance", "show what load balancing strategies make of a snapshot of loads", balance_command},
      {"sim", "simulate a collective operation on thousands of hosts, with noise, in virtual time", sim_command},
      {"agent", "internal: started on other hosts by `run --hosts`", agent_command},
      {"bench", "measure messages, loops, ... and compare with the targets", bench_command},
      {"completion", "print the completion script of a shell", completion_command},
      {"manual", "write the manual pages of this command into a folder", manual_command},
  };
  return all;
}

}  // namespace tri::tools
