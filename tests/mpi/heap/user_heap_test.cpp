// The user heap under programs: one that looks into it (heap_program), ordinary ones, and programs of the system, which
// must give the same output as without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "support/command_runner.hpp"

namespace {

using testing::HasSubstr;
using tri::testing::command_result;

// Each test is a job of its own. Children of the command are in it as well, and get slots of their own.
std::string preloaded(const std::string& command, const std::string& before = "") {
  static int number = 0;
  const std::string job = std::to_string(getpid()) + "." + std::to_string(++number);
  return "unset TRIREME_MPI TRIREME_MPI_HEAP PMIX_NAMESPACE PMI_FD; " + before + " TRIREME_MPI_JOB=" + job +
         " LD_PRELOAD=" PRELOAD_LIBRARY " " + command;
}
command_result program(const std::string& verb, const std::string& before = "") {
  return tri::testing::run_command(preloaded(std::string(HEAP_PROGRAM) + " " + verb, before));
}

class user_heap_program : public testing::TestWithParam<const char*> {};

TEST_P(user_heap_program, is_as_it_should_be) {
  const auto ended = program(GetParam());
  EXPECT_EQ(ended.status, 0) << ended.errors;
}
INSTANTIATE_TEST_SUITE_P(program, user_heap_program,
                         testing::Values("inside", "threads", "reallocations", "alignments", "huge", "trim", "limits",
                                         "forks", "spawns", "core_dumps", "peers", "closed_descriptors"),
                         [](const testing::TestParamInfo<const char*>& which) { return std::string(which.param); });

TEST(user_heap_under_limits, the_c_library_serves_when_the_window_is_full) {
  const auto ended = program("full", "ulimit -v 1500000;");
  EXPECT_EQ(ended.status, 0) << ended.errors;
}

TEST(user_heap_under_limits, locks_pages_when_they_are_touched) {
  const auto ended = program("locked_memory", "ulimit -v 1500000;");
  EXPECT_EQ(ended.status, 0) << ended.errors;
}

TEST(user_heap_under_limits, says_which_limit_leaves_no_room) {
  EXPECT_EQ(program("reason").output, "\n");
  EXPECT_EQ(program("reason", "ulimit -v 500000;").output,
            "the limit of address space (ulimit -v) is 500000 KiB; a shared heap needs at least 1048576 KiB\n");
  EXPECT_EQ(program("reason", "ulimit -d 100000;").output,
            "the limit of data (ulimit -d) is 100000 KiB; a shared heap needs at least 262144 KiB\n");
  // bash counts in KiB, POSIX shells in blocks of 512 bytes
  EXPECT_EQ(tri::testing::run_command("bash -c '" + preloaded(HEAP_PROGRAM " reason", "ulimit -f 1000;") + "'").output,
            "the limit of file sizes (ulimit -f) is 1000 KiB; a shared heap needs at least 262144 KiB\n");
}

TEST(user_heap_under_limits, is_not_there_outside_of_a_job_or_when_told_so) {
  const std::string command = " LD_PRELOAD=" PRELOAD_LIBRARY " " HEAP_PROGRAM " reason";
  const std::string nothing = "unset TRIREME_MPI TRIREME_MPI_HEAP TRIREME_MPI_JOB PMIX_NAMESPACE PMI_FD SLURM_JOB_ID;";
  EXPECT_THAT(tri::testing::run_command(nothing + command).output, HasSubstr("not started as part of an MPI job"));
  EXPECT_EQ(program("reason", "TRIREME_MPI_HEAP=off").output, "TRIREME_MPI_HEAP=off\n");
  EXPECT_EQ(program("reason", "TRIREME_MPI=off").output, "TRIREME_MPI=off\n");
  EXPECT_EQ(program("reason", "TRIREME_MPI_HEAP=yes").output, "TRIREME_MPI_HEAP is 'yes'; it must be on or off\n");
}

TEST(user_heap_fork, a_child_that_may_have_no_private_memory_ends_with_a_line) {
  const auto ended = program("fork_without_memory");
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.errors,
              HasSubstr("trireme: fork: the kernel refuses the child a private heap (ulimit -d, ulimit -v, "
                        "vm.overcommit_memory); the child ends here (posix_spawn needs none)\n"));
}

TEST(user_heap_errors, a_wrong_pointer_ends_the_program_with_a_line) {
  for (const char* verb : {"invalid_free", "double_free"}) {
    const auto ended = program(verb, "ulimit -c 0;");
    EXPECT_EQ(ended.status, 134) << verb;
    EXPECT_EQ(ended.errors.substr(0, ended.errors.find('\n')),
              "trireme: free(): a pointer that malloc did not return, or that was freed before");
  }
}

// Runs a command with and without the heap; both streams and the status must be equal.
void expect_same(const std::string& command, const std::string& required_output) {
  const tri::testing::temporary_folder folder;
  const auto plain = tri::testing::run_command(folder.path(), command);
  const auto with = tri::testing::run_command(folder.path(), preloaded("sh -c '" + command + "'"));
  EXPECT_EQ(plain.status, 0) << command << "\n" << plain.errors;
  EXPECT_EQ(with.status, plain.status) << command;
  EXPECT_EQ(with.output, plain.output) << command;
  EXPECT_EQ(with.errors, plain.errors) << command;
  EXPECT_THAT(plain.output, HasSubstr(required_output)) << command;
}

TEST(unmodified_programs, in_c_and_fortran) {
  expect_same(PLAIN_C, "characters\n");
#ifdef PLAIN_FORTRAN
  expect_same(PLAIN_FORTRAN, "common");
#endif
}

TEST(static_data, of_the_program_has_an_alias_in_the_window) {
  for (const char* program : {STATIC_PIE, STATIC_NO_PIE}) {
    const auto ended = tri::testing::run_command(preloaded(program));
    EXPECT_EQ(ended.status, 0) << program << ended.errors;
    EXPECT_EQ(ended.output, "one two three\n") << program;
    const auto off =
        tri::testing::run_command(preloaded(std::string(program) + " private", "TRIREME_MPI_STATIC_DATA=off"));
    EXPECT_EQ(off.status, 0) << program << off.errors;
  }
}

TEST(other_allocators, are_left_to_the_program) {
  expect_same(PLAIN_C "_with_library", "characters\n");
  expect_same(PLAIN_C "_with_allocator", "characters\n");
  EXPECT_THAT(tri::testing::run_command(preloaded(PROGRAM_WITH_LIBRARY " reason")).output,
              testing::MatchesRegex("the program uses another allocator \\(.*libheap_other_allocator.so\\)\n"));
}

TEST(unmodified_programs, sort_and_shell) {
  expect_same("seq 1 50000 | sort -R --random-source=/proc/version | sort --parallel=2 -n | tail -n 3", "50000");
  expect_same("x=$(for i in 1 2 3; do (echo $i; (echo $((i * 2))) ); done); echo $x | tr 1-9 a-i", "a b b d c f");
}

TEST(unmodified_programs, compiler) {
  expect_same(
      "printf \"#include <map>\\n#include <string>\\n#include <cstdio>\\nint main() { std::map<int, std::string> m; "
      "for (int i = 0; i < 1000; ++i) m[i * 7919 %% 1000] = std::to_string(i); std::puts(m[13].c_str()); }\" > a.cpp "
      "&& "
      "c++ -O2 a.cpp -o a && ./a",
      "\n");
}

#ifdef PYTHON
TEST(unmodified_programs, python_with_threads_and_forks) {
  const tri::testing::temporary_folder folder;
  const std::string script = (folder.path() / "heap_python.py").string();
  tri::testing::write_file(script, R"(
import json, os, re, subprocess, sys, threading, multiprocessing
words = {str(i): list(range(i % 50)) for i in range(20000)}
text = json.dumps(words)
print(len(text), json.loads(text) == words, len(re.findall('99', text)))
results = []
def work(n): results.append(sum(len(str(i)) for i in range(n)))
threads = [threading.Thread(target=work, args=(20000 + i,)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(results))
print(subprocess.run(['echo', 'hello'], capture_output=True).stdout)
def square(n):
    words['7'].append(n)
    return n * n, len(words['7'])
if __name__ == '__main__':
    with multiprocessing.get_context('fork').Pool(2) as pool: print([a for a, b in pool.map(square, range(10))])
    pid = os.fork()
    if pid == 0:
        words.clear(); del text
        os._exit(len(words))
    print(os.waitpid(pid, 0)[1], len(words), len(text), len(words['7']))
)");
  expect_same(PYTHON " " + script, "hello");
}
#endif

#ifdef LAMMPS
TEST(unmodified_programs, lammps_in_one_process) {
  const tri::testing::temporary_folder folder;
  const std::string input = (folder.path() / "heap_melt.lmp").string();
  tri::testing::write_file(input, R"(
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 10
run 50
)");
  // Of the log, the lines of the thermodynamic output: six columns of numbers.
  expect_same("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " LAMMPS " -log none -in " + input +
                  " | grep -E \"^ +[0-9]+( +[-0-9.e+]+){5} *$\"",
              " 50 ");
}
#endif

}  // namespace
