// The command `trireme` as a user sees it: exit status and text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using result = tri::testing::command_result;

result trireme(const std::string& arguments) {
  return tri::testing::run_with_one_stream(std::string(TRIREME_COMMAND) + " " + arguments);
}

TEST(command, help_and_version) {
  for (const char* subcommand : {"run", "info"}) {
    const result help = trireme(std::string(subcommand) + " --help");
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.output, HasSubstr("Examples:\n  trireme " + std::string(subcommand)));
  }
  EXPECT_EQ(trireme("--help").status, 0);
  EXPECT_THAT(trireme("--version").output, StartsWith("trireme "));
  EXPECT_EQ(trireme("").status, 2);
}

TEST(command, output_that_cannot_be_written_is_an_error) {
  for (const char* const words : {"--help", "help run", "info --config", "run --help"}) {
    const auto full = tri::testing::run_command(std::string(TRIREME_COMMAND) + " " + words + " >/dev/full");
    EXPECT_EQ(full.status, 1) << words;
    EXPECT_THAT(full.errors, StartsWith("trireme: standard output cannot be written")) << words;
  }
}

TEST(command, unknown_words_get_no_suggestion_that_they_do_not_resemble) {
  EXPECT_EQ(trireme("banana").output, "trireme: there is no command 'banana'; `trireme --help` lists all\n");
  EXPECT_EQ(trireme("--banana").output, "trireme: unknown option --banana; `trireme --help` lists all\n");
  EXPECT_EQ(trireme("run --banana ls").output,
            "trireme run: unknown option --banana; `trireme run --help` shows the options\n");
}

TEST(command, unknown_words_get_a_suggestion) {
  const result subcommand = trireme("rnu -n 2 x");
  EXPECT_EQ(subcommand.status, 2);
  EXPECT_EQ(subcommand.output, "trireme: there is no command 'rnu'; did you mean 'run'? `trireme --help` lists all\n");
  const result option = trireme("run --lable ls");
  EXPECT_EQ(option.status, 2);
  EXPECT_EQ(option.output,
            "trireme run: unknown option --lable; did you mean --label?; `trireme run --help` shows the options\n");
  EXPECT_THAT(trireme("run --tri-inbox-cell 4 ls").output, HasSubstr("did you mean --tri-inbox-cells?"));
  EXPECT_EQ(trireme("--verson").output,
            "trireme: unknown option --verson; did you mean --version? `trireme --help` lists all\n");
  const result bench = trireme("bench --filtre x");
  EXPECT_EQ(bench.status, 2);
  EXPECT_THAT(bench.output, StartsWith("trireme bench: unknown option --filtre; did you mean --filter?"));
}

TEST(command, values_out_of_range_are_named_with_what_would_be_right) {
  EXPECT_EQ(
      trireme("run -n 0 ls").output,
      "trireme run: --processes: '0' is not a whole number from 1 to 4096; `trireme run --help` shows the options\n");
  EXPECT_THAT(trireme("run --timeout 0 ls").output, HasSubstr("--timeout: '0' is not a number above 0; "));
  EXPECT_THAT(trireme("run -n").output, HasSubstr("--processes needs a value; "));
  EXPECT_THAT(trireme("noise --percent 101").output, HasSubstr("--percent: '101' is not a number from 0 to 100; "));
  EXPECT_THAT(trireme("noise --samples 10zz").output, HasSubstr("--samples: '10zz' is not a whole number from 1 to "));
  EXPECT_THAT(trireme("info --slack --work 5").output, HasSubstr("trireme info: --work: '5' is not a length of time"));
  const result bench = trireme("bench --min-time x");
  EXPECT_EQ(bench.status, 2);
  EXPECT_THAT(bench.output, StartsWith("trireme bench: --min-time: 'x' is not a number from 0 to 86400; "));
  EXPECT_EQ(trireme("bench nosuch").output,
            "trireme bench: there is no suite 'nosuch'; `trireme bench --list` shows all\n");
}

TEST(command, help_of_a_command) {
  EXPECT_EQ(trireme("help run").output, trireme("run --help").output);
  EXPECT_EQ(trireme("help rnu").status, 2);
}

TEST(command, run_knows_how_others_name_the_number_of_processes) {
  EXPECT_EQ(trireme("run --np 2 echo here").output, "here\nhere\n");
  EXPECT_THAT(trireme("run -np 2 true").output, HasSubstr("-np is -n or --np here"));
}

// The launcher writes what is labelled. Its standard error is another file, as it is at a terminal with `| head`.
TEST(command, run_ends_the_job_when_its_labelled_output_cannot_be_written) {
  const std::string begin = "set -o pipefail; " TRIREME_COMMAND " run -n 2 --label ";
  const auto piped = tri::testing::run_command("bash -c '" + begin + "yes | head -n 1'");
  EXPECT_EQ(piped.status, 128 + 13);
  EXPECT_THAT(piped.errors,
              HasSubstr("trireme: the output of the job cannot be written: Broken pipe; the job is ended"));
  const auto full = tri::testing::run_command("bash -c '" + begin + "echo one >/dev/full'");
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.errors, HasSubstr("the output of the job cannot be written: No space left on device"));
}

TEST(command, exec_refuses_values_that_switches_do_not_have) {
  for (const char* variable :
       {"TRIREME_MPI", "TRIREME_MPI_HEAP", "TRIREME_MPI_STATIC_DATA", "TRIREME_MPI_KERNEL_COPIES"}) {
    const auto run = tri::testing::run_with_one_stream(std::string(variable) + "=of " TRIREME_COMMAND " exec true");
    EXPECT_EQ(run.output, std::string("trireme exec: ") + variable + " is 'of'; it must be on (the default) or off\n");
    EXPECT_EQ(run.status, 2);
  }
  EXPECT_EQ(tri::testing::run_with_one_stream("TRIREME_MPI=off " TRIREME_COMMAND " exec --mpi true").output,
            "trireme exec: --mpi was given, but TRIREME_MPI=off in the environment forbids it\n");
}

TEST(command, exec_refuses_variables_that_nobody_reads) {
  const result misspelt =
      tri::testing::run_with_one_stream("TRIREME_OMP_VIRTUEL=8 " TRIREME_COMMAND " exec --omp true");
  EXPECT_EQ(misspelt.status, 2);
  EXPECT_EQ(misspelt.output,
            "trireme exec: unknown environment variable TRIREME_OMP_VIRTUEL; did you mean TRIREME_OMP_VIRTUAL? "
            "`trireme info --config` lists all\n");
}

TEST(command, exec_refuses_options_of_loops_without_omp) {
  for (const char* option : {"--schedule dynamic", "--tune-file /dev/null", "--virtual 8", "--report"}) {
    // Also for a program that a launcher of MPI has started, whose messages it would take.
    for (const char* const variables : {"", "OMPI_COMM_WORLD_SIZE=1 "}) {
      const result refused = tri::testing::run_with_one_stream(std::string(variables) + TRIREME_COMMAND " exec " +
                                                               option + " sh -c 'echo started'");
      const std::string name = std::string(option).substr(0, std::string(option).find(' '));
      EXPECT_EQ(refused.status, 2) << option;
      EXPECT_EQ(refused.output,
                "trireme exec: " + name +
                    " is about the loops of an OpenMP program, and without --omp they stay with its own "
                    "runtime; add --omp, or leave " +
                    name + " out\n");
    }
  }
}

TEST(command, run_checks_values_before_it_starts_anything) {
  EXPECT_THAT(trireme("run -n none echo hi").output, HasSubstr("--processes"));
  for (const char* wrong : {"banana", "1,,2", "3-1"}) {
    const result affinity = trireme(std::string("run --affinity ") + wrong + " echo hi");
    EXPECT_EQ(affinity.status, 2) << wrong;
    EXPECT_THAT(affinity.output, StartsWith("trireme run: --tri-affinity is '")) << wrong;
    EXPECT_THAT(affinity.output,
                HasSubstr("write CPUs and ranges with an optional step, such as 0,2-5:2; or write auto "
                          "or none\n"))
        << wrong;
  }
  const result pes = trireme("run --pes=lots echo hi");
  EXPECT_EQ(pes.status, 2);
  EXPECT_EQ(pes.output, "trireme run: --tri-pes is 'lots', but it must be a whole number, 0 .. 4096\n");
  const result missing = trireme("run");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.output, HasSubstr("a program is required"));
  EXPECT_EQ(trireme("run no-such-program").status, 127);
}

TEST(command, run_says_that_the_limit_of_open_files_is_too_small) {
  const auto limited = [](const std::string& arguments) {
    return tri::testing::run_with_one_stream("ulimit -n 40; " TRIREME_COMMAND " run " + arguments);
  };
  const result refused = limited("-n 30 sh -c 'echo started'");
  EXPECT_EQ(refused.status, 127);
  EXPECT_THAT(refused.output,
              testing::ContainsRegex("^trireme run: 30 processes of a job need [0-9]+ open files here, but "
                                     "the limit is 40 [(]ulimit -n, .*ask for a limit of [0-9]+ or more, or "
                                     "start fewer processes\n$"));
  EXPECT_THAT(limited("-n 12 --label sh -c 'echo started'").output, HasSubstr("12 processes of a job need "));
  EXPECT_EQ(limited("-n 2 sh -c 'echo started'").output, "started\nstarted\n");
  // A job has what it needs with the limit that the line asks for.
  const std::string needed = refused.output.substr(refused.output.find("a limit of ") + 11);
  EXPECT_EQ(tri::testing::run_with_one_stream("ulimit -n " + needed.substr(0, needed.find(' ')) +
                                              "; " TRIREME_COMMAND " run -n 30 true")
                .status,
            0);
}

TEST(command, run_forwards_options_and_arguments) {
  const result ended = trireme(
      "run -n 2 --pes 3 --affinity none --tri-idle=sleep --tri-inbox_cells 64 --tri-counters --label -- sh -c "
      "'echo $TRIREME_PES $TRIREME_AFFINITY $TRIREME_IDLE $TRIREME_INBOX_CELLS $TRIREME_COUNTERS \"$@\"; exit 3' x -n "
      "7 --label --tri-pes 9");
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.output, HasSubstr("[0] 3 none sleep 64 true -n 7 --label --tri-pes 9\n"));
  EXPECT_THAT(ended.output, HasSubstr("[1] 3 none sleep 64 true -n 7 --label --tri-pes 9\n"));
}

TEST(command, run_reads_switches_as_programs_do) {
  EXPECT_EQ(trireme("run --tri-counters on sh -c 'echo $TRIREME_COUNTERS'").output, "on\n");
  EXPECT_EQ(trireme("run --tri-counters off sh -c 'echo $TRIREME_COUNTERS \"$@\"' x ''").output, "off \n");
  EXPECT_EQ(trireme("run --tri-counters sh -c 'echo $TRIREME_COUNTERS'").output, "true\n");
  EXPECT_EQ(trireme("run -- sh -c 'echo \"$@\"' x --tri-counters on").output, "--tri-counters on\n");
}

TEST(command, info) {
  const result info = trireme("info");
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.output, HasSubstr("PU #0"));
  EXPECT_THAT(info.output, HasSubstr("memfd"));
  EXPECT_THAT(info.output, ::testing::ContainsRegex("Parts of this build\n  objects +yes  objects and loops"));
  EXPECT_THAT(trireme("info --tri-topology 'synthetic:pack:2 numa:1 l3:1 core:4 pu:2'").output,
              HasSubstr("16 PUs on 8 cores, 2 NUMA domains"));
  EXPECT_THAT(trireme("info --tri-topology nonsense").output, HasSubstr("trireme info: topology 'nonsense'"));
  EXPECT_THAT(trireme("info --config --tri-pes 3").output,
              ::testing::ContainsRegex("pes +integer +0 +PEs +3 +command line"));
}

TEST(command, info_for_programs) {
  const auto all = nlohmann::json::parse(trireme("info --json --tri-topology 'synthetic:numa:2 core:2 pu:1'").output);
  EXPECT_EQ(all.at("topology").at("pus").size(), 4u);
  EXPECT_EQ(all.at("topology").at("numa_domains"), 2);
  EXPECT_TRUE(all.at("memory").contains("memfd"));
  for (const char* part : {"objects", "openmp", "openmpi", "mpich", "ucx", "pmix"})
    EXPECT_TRUE(all.at("parts").contains(part)) << part;
  const auto config = nlohmann::json::parse(trireme("info --json --config").output);
  EXPECT_EQ(config.at(0).at("name"), "pes");
  EXPECT_EQ(config.at(0).at("variable"), "TRIREME_PES");
}

TEST(command, pinned_threads_do_not_migrate) {
  const result watched = trireme("info --migrations 0.2");
  EXPECT_EQ(watched.status, 0);
  EXPECT_THAT(watched.output, ::testing::ContainsRegex("busy threads pinned: 0 changes of CPU"));
}

TEST(command, run_starts_agents_on_hosts) {
  const std::string program = " -- sh -c 'echo process $TRIREME_PROCESS of $TRIREME_PROCESSES on $TRIREME_MACHINES'";
  const result spread = trireme("run -n 3 --hosts a,b --rsh " REMOTE_SHELL + program);
  EXPECT_EQ(spread.status, 0);
  for (const char* each : {"0", "1", "2"})
    EXPECT_THAT(spread.output, HasSubstr("process " + std::string(each) + " of 3 on 2\n"));
  setenv("TRIREME_RSH", REMOTE_SHELL, 1);
  EXPECT_THAT(trireme("run --hosts a" + program).output, HasSubstr("process 0 of 1 on 1\n"));
  unsetenv("TRIREME_RSH");
  const result missing = trireme("run --hosts a,unreachable --rsh " REMOTE_SHELL " sleep 1000");
  EXPECT_EQ(missing.status, 127);
  EXPECT_THAT(missing.output, HasSubstr("trireme run: cannot start on host unreachable: "));
  EXPECT_THAT(missing.output,
              HasSubstr("exited with status 255: connect to host unreachable port 22: No route to host\n"));
}

// The launcher blocks signals from one life of the job to the next. Remote shells that it starts do not inherit that.
TEST(command, remote_shells_of_a_surviving_job_have_no_signals_blocked) {
  const tri::testing::temporary_folder folder;
  const std::string shell = folder.path() / "shell";
  tri::testing::write_file(
      shell, "#!/bin/sh\nshift\necho \"$(grep SigBlk /proc/self/status) for $*\" >> log\nexec sh -c \"$*\"\n");
  std::filesystem::permissions(shell, std::filesystem::perms(0755));
  const result job = tri::testing::run_command(folder.path(), "grep SigBlk /proc/self/status > own; " TRIREME_COMMAND
                                                              " run --survive --hosts a -n 1 --rsh " +
                                                                  shell + " true");
  EXPECT_EQ(job.status, 0) << job.errors;
  std::ifstream log(folder.path() / "log");
  std::string own = tri::testing::contents_of(folder.path() / "own");
  own.pop_back();
  std::string agent, removal;
  std::getline(log, agent);
  std::getline(log, removal);
  EXPECT_THAT(agent, AllOf(StartsWith(own), EndsWith(" agent")));
  EXPECT_THAT(removal, AllOf(StartsWith(own), HasSubstr(" agent --forget '/dev/shm/trireme-memory-")));
}

TEST(command, wrong_hosts_are_explained) {
  EXPECT_EQ(trireme("run --hosts a,,b true").output,
            "trireme run: --hosts 'a,,b' has the host ''; write names separated by commas, such as a,b\n");
  EXPECT_THAT(trireme("run --hosts 'a;reboot' true").output, HasSubstr("has the host 'a;reboot'"));
  EXPECT_THAT(trireme("run --hosts=-oProxyCommand=x true").output, HasSubstr("has the host '-oProxyCommand=x'"));
  EXPECT_EQ(trireme("run -n 1 --hosts a,b true").output,
            "trireme run: --hosts names 2 hosts, but there is only 1 process; each host needs one\n");
  EXPECT_EQ(trireme("run --hosts a --rsh '' true").output, "trireme run: --rsh is empty; leave it out for ssh\n");
  EXPECT_EQ(trireme("run --hosts a --rsh /nowhere/ssh true").output,
            "trireme run: there is no program '/nowhere/ssh' (No such file or directory)\n");
  const result alone = trireme("agent </dev/null");
  EXPECT_EQ(alone.status, 1);
  EXPECT_EQ(alone.output, "trireme agent: the launcher is gone; the processes of this host end\n");
  EXPECT_THAT(trireme("agent </etc/hostname").output, HasSubstr("no launcher is at the other end"));
}

}  // namespace
