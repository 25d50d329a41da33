// Unmodified programs of gcc on virtual threads: the same output as on real ones, and counts that show that contexts
// were taken over and put aside; programs that cannot have them run without, and a line says why.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <regex>
#include <string>

#include "support/command_runner.hpp"

namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using result = tri::testing::command_result;

// A shell command; without spinning, for there are more threads than cores.
result run(const std::string& command) {
  return tri::testing::run_command("export OMP_WAIT_POLICY=passive; " + command);
}

std::string program(const std::string& name) { return PROGRAMS "/" + name; }
std::string with_threads(int threads) { return fmt::format("OMP_NUM_THREADS={} ", threads); }
std::string exec(const std::string& options) { return TRIREME_COMMAND " exec --omp " + options + " "; }
std::string exec(int per_thread) { return exec(fmt::format("--report --virtual {}", per_thread)); }

// The number before or behind `name` in the line about virtual threads.
std::uint64_t count_of(const result& ended, const std::string& name) {
  std::smatch found;
  if (!std::regex_search(ended.errors, found, std::regex("virtual threads: [^\n]*" + name + " ([0-9]+)"))) {
    ADD_FAILURE() << "no count of " << name << " in " << ended.errors;
    return 0;
  }
  return std::stoull(found[1].str());
}
std::uint64_t contexts_in(const result& ended) { return count_of(ended, "virtual threads run"); }

class team_program : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program(GetParam()))) GTEST_SKIP() << "its compiler is not installed";
  }
};
std::string name_of(const ::testing::TestParamInfo<const char*>& info) { return info.param; }

TEST_P(team_program, gives_the_same_on_virtual_threads) {
  const result alone = run(with_threads(3) + program(GetParam()));
  ASSERT_EQ(alone.status, 0) << alone.output;
  for (const int threads : {1, 2, 3, 5}) {
    for (const int per_thread : {1, 2, 3, 8, 17}) {
      SCOPED_TRACE(fmt::format("{} times {}", per_thread, threads));
      const result under = run(with_threads(threads) + exec(per_thread) + program(GetParam()));
      ASSERT_EQ(under.status, 0) << under.output << under.errors;
      ASSERT_EQ(under.output, alone.output);
      ASSERT_THAT(under.errors,
                  HasSubstr(fmt::format("virtual threads: {} for each of {} threads", per_thread, threads)));
      const int all = threads * per_thread;
      ASSERT_TRUE(all == 1 || contexts_in(under) > static_cast<std::uint64_t>(all)) << under.errors;
    }
  }
}
TEST(virtual_report, counts_ordered_loops) {
  if (!std::filesystem::exists(program("virtual_team_gcc"))) GTEST_SKIP() << "its compiler is not installed";
  const result under = run(with_threads(2) + exec(3) + program("virtual_team_gcc"));
  EXPECT_EQ(under.status, 0) << under.output << under.errors;
  EXPECT_THAT(under.errors, ::testing::ContainsRegex("taken +[0-9]+  ordered_loops"));
}
TEST_P(team_program, gives_the_same_with_other_schedules_and_stays_quiet) {
  const result alone = run(with_threads(2) + program(GetParam()));
  for (const char* schedule : {"static", "dynamic,3", "guided", "staggered,0.5,chunk=4", "hybrid,0.8"}) {
    SCOPED_TRACE(schedule);
    const result under =
        run(with_threads(2) + exec(fmt::format("--virtual 3 --schedule {}", schedule)) + program(GetParam()));
    EXPECT_EQ(under.status, 0);
    EXPECT_EQ(under.output, alone.output);
    EXPECT_EQ(under.errors, "");
  }
}
INSTANTIATE_TEST_SUITE_P(omp, team_program,
                         ::testing::Values("virtual_team_gcc", "virtual_team_cxx_gcc", "virtual_team_fortran_gcc",
                                           "virtual_own_threads_gcc"),
                         name_of);
class loop_program : public team_program {};
TEST_P(loop_program, gives_the_same_and_its_loops_are_taken) {
  const result alone = run(with_threads(3) + program(GetParam()));
  for (const int per_thread : {1, 4}) {
    const result under = run(with_threads(3) + exec(per_thread) + program(GetParam()));
    EXPECT_EQ(under.status, 0) << under.output << under.errors;
    EXPECT_EQ(under.output, alone.output);
    EXPECT_GT(contexts_in(under), 0u);
    EXPECT_THAT(under.errors, HasSubstr(", passed through to the OpenMP runtime 0\n"));
  }
}
INSTANTIATE_TEST_SUITE_P(omp, loop_program,
                         ::testing::Values("kernels_gcc", "loop_kinds_cxx_gcc", "loop_kinds_fortran_gcc"), name_of);

class gcc_program : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program("virtual_team_gcc"))) GTEST_SKIP() << "gcc is not installed";
  }
};
using virtual_threads = gcc_program;

// The program ends only if the contexts of a carrier that cannot go on are taken from it.
TEST_F(virtual_threads, that_have_not_begun_are_taken_from_a_carrier_that_is_stuck) {
  for (const char* name : {"virtual_steals_gcc", "virtual_steals_errno_gcc"}) {
    for (const int per_thread : {2, 4, 9}) {
      const result under = run(with_threads(2) + exec(per_thread) + program(name));
      EXPECT_EQ(under.output, "all through\n");
      EXPECT_EQ(contexts_in(under), count_of(under, "regions") * static_cast<std::uint64_t>(2 * per_thread));
      EXPECT_GE(count_of(under, "stolen"), static_cast<std::uint64_t>(per_thread - 1));
      EXPECT_GE(count_of(under, "suspended"), static_cast<std::uint64_t>(2 * per_thread));
    }
  }
}
TEST_F(virtual_threads, that_wait_at_a_barrier_are_taken_over_when_they_may_go_on) {
  const result under = run(with_threads(2) + exec(5) + program("virtual_steals_gcc") + " started");
  EXPECT_EQ(under.output, "all through\n");
  EXPECT_GE(count_of(under, "stolen"), 4u);
  EXPECT_THAT(under.errors, Not(HasSubstr("errno")));
}
TEST_F(virtual_threads, stay_where_they_began_if_the_program_may_remember_where_errno_is) {
  const result under = run(with_threads(2) + exec(4) + program("virtual_steals_errno_gcc"));
  EXPECT_THAT(under.errors, HasSubstr("(errno is used: only those that have not begun move)"));
  EXPECT_EQ(under.output, "all through\n");
}

TEST_F(virtual_threads, have_stacks_of_the_size_that_threads_would_have_and_no_more) {
  const std::string name = program("virtual_stack_gcc");
  const std::string shell = "ulimit -c 0; ulimit -s 2048; " + with_threads(2);
  EXPECT_EQ(run(shell + exec(3) + name + " 1536").output, "0\n");
  EXPECT_EQ(run(shell + exec(3) + name + " 3072").status, 128 + SIGSEGV);
  EXPECT_EQ(run(shell + "OMP_STACKSIZE=12M " + exec(3) + name + " 10240").output, "0\n");
  EXPECT_EQ(run(shell + "OMP_STACKSIZE=300k " + exec(3) + name + " 200").output, "0\n");
  EXPECT_EQ(run(shell + "OMP_STACKSIZE=300k " + exec(3) + name + " 600").status, 128 + SIGSEGV);
  // The first thread has the stack of the process.
  EXPECT_EQ(run(shell + "OMP_STACKSIZE=300k " + exec(3) + name + " 1536 first").output, "0\n");
  EXPECT_EQ(run("ulimit -s unlimited; " + exec(3) + name + " 7000").output, "0\n");
}

TEST_F(virtual_threads, are_not_given_to_programs_that_cannot_have_them) {
  struct refused {
    const char* name;
    const char* why;
  };
  for (const refused& each : {
           refused{"virtual_unsupported_threadprivate_gcc",
                   "has thread-local data (threadprivate, thread_local, __thread)"},
           refused{"virtual_unsupported_pthreads_gcc", "lock: it calls thread functions (pthread or C11) itself"},
           refused{"virtual_unsupported_in_library_gcc", "libvirtual_unsupported.so has thread-local data"},
           refused{"loop_kinds_gcc", "uses GOMP_doacross_post: not possible with virtual threads"},
           refused{"old_entries_gcc", "uses GOMP_parallel_start: not possible with virtual threads"},
           refused{"kernels_clang", "built by clang, whose static loops have a call of their own"},
       }) {
    if (!std::filesystem::exists(program(each.name))) continue;
    SCOPED_TRACE(each.name);
    const result alone = run(with_threads(2) + program(each.name));
    const result under = run(with_threads(2) + exec("--virtual 4") + program(each.name));
    EXPECT_EQ(under.status, 0) << under.errors;
    EXPECT_EQ(under.output, alone.output);  // with as many threads as without
    EXPECT_THAT(under.errors, HasSubstr("trireme omp: no virtual threads for " + program(each.name) + " (process "));
    EXPECT_THAT(under.errors, HasSubstr(each.why));
  }
  const result cancels = run("OMP_CANCELLATION=true " + with_threads(2) + exec("--virtual 4") +
                             program("virtual_unsupported_cancels_gcc"));
  EXPECT_EQ(cancels.output, "2 threads\n");
  EXPECT_THAT(cancels.errors, HasSubstr("cancellation is switched on (OMP_CANCELLATION)"));
  EXPECT_EQ(run(with_threads(2) + exec("--virtual 4") + program("virtual_unsupported_cancels_gcc")).output,
            "8 threads\n");
}

TEST_F(virtual_threads, are_as_many_as_there_can_be) {
  const result limited =
      run("OMP_THREAD_LIMIT=3 " + with_threads(8) + exec(4) + program("virtual_unsupported_none_gcc"));
  EXPECT_EQ(limited.output, "12 threads\n");
  const result many = run(with_threads(100) + exec("--virtual 1024") + program("virtual_unsupported_none_gcc"));
  EXPECT_EQ(many.output, "100 threads\n");
  EXPECT_THAT(many.errors, HasSubstr("1024 times 100 threads are too many: at most 65535 are possible"));
  EXPECT_EQ(
      run("OMP_MAX_ACTIVE_LEVELS=0 " + with_threads(2) + exec(4) + program("virtual_unsupported_none_gcc")).output,
      "1 threads\n");
}

// With virtual threads our functions of the interface stand before those of every runtime.
TEST(interface_functions, of_the_caller_s_own_runtime_answer) {
  std::string plug_ins;
  std::string expected;
  for (const char* each : {"virtual_plug_in_gcc.so", "virtual_plug_in_clang.so"}) {
    if (!std::filesystem::exists(program(each))) continue;
    plug_ins += fmt::format(" {}", program(each));
    expected += "3 3\n";
  }
  if (expected.empty()) GTEST_SKIP() << "no compiler with OpenMP";
  for (const char* options : {"", "--virtual 4"}) {
    SCOPED_TRACE(options);
    const result under = run(with_threads(2) + exec(options) + PLUG_IN_USER + plug_ins);
    EXPECT_EQ(under.status, 0) << under.errors;
    EXPECT_EQ(under.output, expected);
  }
}
TEST(interface_functions, that_nobody_has_answer_for_one_thread) {
  for (const char* options : {"", "--virtual 4"}) {
    const result under = run(exec(options) + WEAK_USER);
    EXPECT_EQ(under.status, 0);
    EXPECT_EQ(under.output, "1 0\n");
  }
}

// No more virtual threads than threads: each has one of its own, also where those that have begun stay where they are.
TEST(virtual_thread_for_each, lets_them_wait_for_each_other_by_polling) {
  const std::string meets = "virtual_meets_gcc";
  if (!std::filesystem::exists(program(meets))) GTEST_SKIP() << "gcc is not installed";
  for (const char* options : {"--virtual 1", "--virtual 8"}) {
    const result ended = run("OMP_NUM_THREADS=2 timeout 60 " + exec(options) + program(meets) + " 100");
    EXPECT_EQ(ended.status, 0) << options;
    EXPECT_EQ(ended.output, "met 100 times\n");
  }
}

TEST(virtual_report, says_when_the_program_asks_for_so_few_that_none_can_move) {
  const std::string meets = "virtual_meets_gcc";
  if (!std::filesystem::exists(program(meets))) GTEST_SKIP() << "gcc is not installed";
  const std::string hint = "the program asks for no more threads than there are itself";
  EXPECT_THAT(run("OMP_NUM_THREADS=2 " + exec(8) + program(meets)).errors, HasSubstr(hint));
  EXPECT_THAT(run("OMP_NUM_THREADS=2 " + exec(8) + program("virtual_team_gcc")).errors, Not(HasSubstr(hint)));
}

// Under mpirun a program that has nothing of MPI keeps its virtual threads.
TEST(virtual_mode, is_not_refused_because_a_launcher_of_mpi_started_the_program) {
  const std::string meets = "virtual_meets_gcc";
  if (!std::filesystem::exists(program(meets))) GTEST_SKIP() << "gcc is not installed";
  const result ended =
      run("OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 OMP_NUM_THREADS=2 " + exec(2) + program(meets));
  EXPECT_EQ(ended.output, "met 1 times\n");
  EXPECT_THAT(ended.errors, HasSubstr("virtual threads: 2 for each of 2 threads"));
}

TEST(virtual_watchdog, says_that_a_program_that_polls_stands_still) {
  const std::string polls = "virtual_polls_gcc";
  if (!std::filesystem::exists(program(polls))) GTEST_SKIP() << "gcc is not installed";
  EXPECT_EQ(run("OMP_NUM_THREADS=4 " + exec("") + program(polls)).output, "told by 2\n");
  const std::string shortly = "OMP_NUM_THREADS=2 TRIREME_OMP_STALL=";
  const result stands = run(shortly + "0.4 timeout 5 " + exec("--virtual 2") + program(polls));
  EXPECT_EQ(stands.output, "");
  EXPECT_THAT(stands.errors, HasSubstr("no virtual thread has begun, waited or ended for 0.4 s. If threads of the"));
  EXPECT_THAT(run(shortly + "0 timeout 2 " + exec("--virtual 2") + program(polls)).errors, Not(HasSubstr("virtual")));
  const result bad = run(shortly + "long " + exec("--virtual 2") + "/bin/echo started");
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.errors,
              HasSubstr("TRIREME_OMP_STALL is 'long'; it must be a number of seconds from 0.001 to 1000000"));
}

TEST(virtual_setting, is_checked_before_the_program_begins) {
  for (const char* wrong : {"0", "-3", "four", "4x", "1025", "99999999999999999999", "''", "' 4'"}) {
    SCOPED_TRACE(wrong);
    const result option = run(exec(std::string("--virtual=") + wrong) + "echo started");
    EXPECT_EQ(option.status, 2);
    EXPECT_EQ(option.output, "");
    EXPECT_THAT(option.errors, StartsWith("trireme exec: --virtual: '"));
    EXPECT_THAT(option.errors, HasSubstr("it must be a whole number from 1 to 1024"));
  }
  EXPECT_THAT(run("TRIREME_OMP_VIRTUAL=0 " + exec("") + "echo started").errors,
              StartsWith("trireme exec: TRIREME_OMP_VIRTUAL: '0' is not a number of virtual threads for each thread"));
  // Chosen by the command: the library gets a number, or nothing.
  const result chosen = run(exec("--virtual auto --report ") + "/bin/sh -c 'echo $TRIREME_OMP_VIRTUAL'");
  EXPECT_EQ(chosen.status, 0);
  const bool none = chosen.errors.find("--virtual auto: no virtual threads; ") != std::string::npos;
  if (!none) {
    EXPECT_THAT(chosen.errors, HasSubstr("--virtual auto: 8 virtual threads for each thread; "));
  }
  EXPECT_EQ(chosen.output, none ? "\n" : "8\n");
  EXPECT_THAT(chosen.errors, ContainsRegex("core [0-9]+ loses [0-9.]+ % of its time|there is one core"));
  const result preloaded = run("TRIREME_OMP_VIRTUAL=much LD_PRELOAD=" VIRTUAL_LIBRARY " /bin/echo started");
  EXPECT_EQ(preloaded.status, 2);
  EXPECT_EQ(preloaded.output, "");
  EXPECT_THAT(preloaded.errors, StartsWith("trireme omp: TRIREME_OMP_VIRTUAL: 'much'"));
  EXPECT_EQ(run("TRIREME_OMP_VIRTUAL=auto LD_PRELOAD=" VIRTUAL_LIBRARY " /bin/echo started").errors,
            "trireme omp: TRIREME_OMP_VIRTUAL: 'auto' needs `trireme exec --omp`, which samples the cores before the "
            "program begins; without that command it must be a whole number\n");
  // `host` is the older name of `native`.
  const std::string by_environment = "TRIREME_OMP_VIRTUAL=4 TRIREME_OMP_SCHEDULE=host LD_PRELOAD=" VIRTUAL_LIBRARY " ";
  for (const std::string& command : {exec("--virtual 4 --schedule native "), by_environment}) {
    const result contradiction = run(command + "/bin/echo started");
    EXPECT_EQ(contradiction.status, 2);
    EXPECT_THAT(contradiction.errors,
                HasSubstr("the schedule `native` leaves loops to a runtime that knows nothing of"));
  }
  const result other_library = run("TRIREME_OMP_VIRTUAL=4 LD_PRELOAD=" OMP_LIBRARY " /bin/echo started");
  EXPECT_EQ(other_library.status, 2);
  EXPECT_EQ(other_library.output, "");
  EXPECT_THAT(other_library.errors, HasSubstr("needs libtrireme-omp-virtual.so in LD_PRELOAD in the place of"));
  // Programs without OpenMP are none of our business.
  EXPECT_EQ(run(exec("--virtual 4") + "sh -c 'echo out; exit 5'").status, 5);
  EXPECT_EQ(run(exec("--virtual 4") + "true").errors, "");
}

}  // namespace
