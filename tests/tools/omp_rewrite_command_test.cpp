// `trireme omp-rewrite` as its users meet it: files on disk, compilers, the drop-in.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::string rewrite = TRIREME_COMMAND " omp-rewrite ";
const std::string backup_ending = ".before-omp-rewrite";

class omp_rewrite_command : public ::testing::Test {
 protected:
  command_result run(const std::string& command) const { return run_command(folder_.path(), command); }
  fs::path file(const std::string& name) const { return folder_.path() / name; }
  void copy_sources() const { fs::copy(SOURCES, folder_.path()); }

  temporary_folder folder_;
};

struct language {
  const char* source;
  const char* compiler;  // empty: not installed
  const char* options;
  int rewritten;  // loops
};
const std::vector<language> languages{{"loops.c", PROGRAM_GCC, "-Wall -Werror", 8},
                                      {"loops.c", PROGRAM_CLANG, "-Wall -Werror", 8},
                                      {"same_threads.c", PROGRAM_GCC, "-Wall -Werror", 5},
                                      {"same_threads.c", PROGRAM_CLANG, "-Wall -Werror", 5},
                                      {"loops.cpp", PROGRAM_GXX, "-std=c++17 -Wall -Werror", 4},
                                      {"loops_free.f90", PROGRAM_GFORTRAN, "-Wall -Werror", 5},
                                      {"loops_fixed.f", PROGRAM_GFORTRAN, "-std=legacy -Werror", 3}};

TEST_F(omp_rewrite_command, rewritten_programs_compile_and_print_the_same_under_every_schedule) {
  copy_sources();
  int tried = 0;
  for (const language& each : languages) {
    if (std::string(each.compiler).empty()) continue;
    ++tried;
    SCOPED_TRACE(fmt::format("{} with {}", each.source, each.compiler));
    const std::string compile = fmt::format("{} -O2 -fopenmp {} {{}} -o {{}}", each.compiler, each.options);
    ASSERT_EQ(run(fmt::format(fmt::runtime(compile), each.source, "before")).errors, "");
    const command_result rewriting = run(rewrite + "--output new " + each.source);
    ASSERT_EQ(rewriting.status, 0);
    EXPECT_THAT(rewriting.errors, HasSubstr(fmt::format("{}: {} of ", each.source, each.rewritten)));
    ASSERT_EQ(run(fmt::format(fmt::runtime(compile), std::string("new/") + each.source, "after")).errors, "");
    const command_result expected = run("OMP_NUM_THREADS=3 ./before");
    ASSERT_EQ(expected.status, 0);
    ASSERT_THAT(expected.output, Not(IsEmpty()));
    for (const char* schedule : {"static", "dynamic", "dynamic,3", "guided", "static,5"}) {
      const command_result after = run(fmt::format("OMP_NUM_THREADS=3 OMP_SCHEDULE={} ./after", schedule));
      EXPECT_EQ(after.status, 0) << schedule;
      EXPECT_EQ(after.output, expected.output) << schedule;
    }
  }
  if (tried == 0) GTEST_SKIP() << "no compiler with OpenMP is installed";
}

// How many loops the drop-in took, of those that ran.
int taken(const std::string& report) {
  const std::regex pattern("loops intercepted ([0-9]+)");
  std::smatch found;
  return std::regex_search(report, found, pattern) ? std::stoi(found[1].str()) : -1;
}

TEST_F(omp_rewrite_command, the_drop_in_reaches_exactly_the_rewritten_loops) {
  if (std::string(PROGRAM_GCC).empty()) GTEST_SKIP() << "gcc is not installed";
  copy_sources();
  const std::string compile = PROGRAM_GCC " -O2 -fopenmp ";
  ASSERT_EQ(
      run(compile + "loops.c -o before && " + rewrite + "-q -i loops.c && " + compile + "loops.c -o after").errors, "");
  const std::string exec = "OMP_NUM_THREADS=3 " TRIREME_COMMAND " exec --omp --report ";
  const command_result before = run(exec + "./before");
  const command_result after = run(exec + "./after");
  EXPECT_EQ(taken(before.errors), 1);
  EXPECT_EQ(taken(after.errors), 9);
  EXPECT_EQ(after.output, before.output);
}

TEST_F(omp_rewrite_command, shows_a_diff_that_patch_understands_and_writes_nothing) {
  copy_sources();
  EXPECT_THAT(run(rewrite + "--color always loops.c").output, HasSubstr("\033[32m+"));
  for (const char* name : {"loops.c", "loops.cpp", "loops_free.f90", "loops_fixed.f"}) {
    SCOPED_TRACE(name);
    const std::string before = contents_of(file(name));
    const command_result shown = run(rewrite + name + " >diff");
    EXPECT_EQ(shown.status, 0);
    EXPECT_THAT(contents_of(file("diff")), StartsWith(fmt::format("--- a/{0}\n+++ b/{0}\n@@", name)));
    EXPECT_THAT(contents_of(file("diff")), Not(HasSubstr("\033")));
    EXPECT_EQ(contents_of(file(name)), before);
    EXPECT_FALSE(fs::exists(file(name + backup_ending)));
    ASSERT_EQ(run(rewrite + "-q --output new " + name).status, 0);
    if (std::string(PROGRAM_PATCH).empty()) continue;
    EXPECT_EQ(run(PROGRAM_PATCH " -p1 <diff").errors, "");
    EXPECT_EQ(contents_of(file(name)), contents_of(file(std::string("new/") + name)));
  }
}

TEST_F(omp_rewrite_command, undo_brings_back_every_byte_and_the_permissions) {
  const std::string source =
      "\xef\xbb\xbf#pragma omp for\r\nint \xff;\0x"
      "\n#pragma omp for schedule(static)";
  write_file(file("x.c"), source);
  fs::permissions(file("x.c"), fs::perms(0754));
  ASSERT_EQ(run(rewrite + "-i x.c").status, 0);
  EXPECT_THAT(contents_of(file("x.c")), HasSubstr("schedule(runtime)"));
  EXPECT_NE(contents_of(file("x.c")), source);
  EXPECT_EQ(fs::status(file("x.c")).permissions(), fs::perms(0754));
  EXPECT_TRUE(fs::exists(file("x.c" + backup_ending)));
  const command_result undone = run(rewrite + "--undo x.c");
  EXPECT_EQ(undone.status, 0);
  EXPECT_THAT(undone.errors, HasSubstr("as it was before"));
  EXPECT_EQ(contents_of(file("x.c")), source);
  EXPECT_EQ(fs::status(file("x.c")).permissions(), fs::perms(0754));
  EXPECT_FALSE(fs::exists(file("x.c" + backup_ending)));
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(omp_rewrite_command, undo_goes_back_to_before_the_first_of_several_rewritings) {
  const std::string source = "#pragma omp for\n#pragma omp barrier\n#pragma omp for nowait\n";
  write_file(file("x.c"), source);
  ASSERT_EQ(run(rewrite + "-i x.c").status, 0);
  ASSERT_EQ(run(rewrite + "-i --nowait x.c").status, 0);
  EXPECT_THAT(contents_of(file("x.c")), HasSubstr("schedule(runtime) nowait"));
  ASSERT_EQ(run(rewrite + "--undo x.c").status, 0);
  EXPECT_EQ(contents_of(file("x.c")), source);
}

TEST_F(omp_rewrite_command, undo_refuses_what_was_edited_since) {
  write_file(file("x.c"), "#pragma omp for\n#pragma omp for nowait\n");
  ASSERT_EQ(run(rewrite + "-i x.c").status, 0);
  const std::string edited = contents_of(file("x.c")) + "int more;\n";
  write_file(file("x.c"), edited);
  const command_result undone = run(rewrite + "--undo x.c");
  EXPECT_EQ(undone.status, 2);
  EXPECT_THAT(undone.errors, HasSubstr("x.c: was edited after it had been rewritten"));
  EXPECT_EQ(contents_of(file("x.c")), edited);
  EXPECT_TRUE(fs::exists(file("x.c" + backup_ending)));
  // A second rewriting would leave a backup that fits neither.
  const command_result again = run(rewrite + "-i --nowait x.c");
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.errors, HasSubstr("was edited after"));
  EXPECT_EQ(contents_of(file("x.c")), edited);
}

TEST_F(omp_rewrite_command, undo_needs_a_backup_that_is_one) {
  write_file(file("x.c"), "#pragma omp for\n");
  EXPECT_THAT(run(rewrite + "--undo x.c").errors, HasSubstr("was not rewritten in place"));
  write_file(file("x.c" + backup_ending), "my own notes\n");
  for (const char* how : {"--undo", "-i"}) {
    const command_result refused = run(rewrite + how + " x.c");
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.errors, HasSubstr("this is not a backup of omp-rewrite"));
  }
  EXPECT_EQ(contents_of(file("x.c")), "#pragma omp for\n");
}

// Ended between writing the backup and the file.
TEST_F(omp_rewrite_command, a_rewriting_that_was_cut_short_can_be_undone_and_repeated) {
  write_file(file("x.c"), "#pragma omp for\n");
  ASSERT_EQ(run(rewrite + "-i x.c").status, 0);
  const std::string after = contents_of(file("x.c"));
  write_file(file("x.c"), "#pragma omp for\n");
  EXPECT_EQ(run("cp x.c" + backup_ending + " kept && " + rewrite + "--undo x.c").status, 0);
  EXPECT_EQ(contents_of(file("x.c")), "#pragma omp for\n");
  EXPECT_EQ(run("cp kept x.c" + backup_ending + " && " + rewrite + "-i x.c").status, 0);
  EXPECT_EQ(contents_of(file("x.c")), after);
}

TEST_F(omp_rewrite_command, a_file_without_changes_is_not_touched) {
  write_file(file("x.c"), "int x;\n#pragma omp for ordered\n");
  fs::last_write_time(file("x.c"), fs::file_time_type(std::chrono::seconds(1'000'000)));
  ASSERT_EQ(run(rewrite + "-i x.c").status, 0);
  EXPECT_EQ(fs::last_write_time(file("x.c")), fs::file_time_type(std::chrono::seconds(1'000'000)));
  EXPECT_FALSE(fs::exists(file("x.c" + backup_ending)));
}

TEST_F(omp_rewrite_command, a_link_stays_a_link) {
  fs::create_directory(file("sub"));
  write_file(file("sub/x.c"), "#pragma omp for\n");
  fs::create_symlink("sub/x.c", file("x.c"));
  ASSERT_EQ(run(rewrite + "-i x.c").status, 0);
  EXPECT_TRUE(fs::is_symlink(file("x.c")));
  EXPECT_EQ(contents_of(file("sub/x.c")), "#pragma omp for schedule(runtime)\n");
  ASSERT_EQ(run(rewrite + "--undo x.c").status, 0);
  EXPECT_EQ(contents_of(file("sub/x.c")), "#pragma omp for\n");
}

TEST_F(omp_rewrite_command, folders_stand_for_the_sources_below_them) {
  fs::create_directories(file("a/b"));
  write_file(file("a/x.c"), "#pragma omp for\n");
  write_file(file("a/b/y.F"), "c$omp do\n");
  write_file(file("a/notes.txt"), "#pragma omp for\n");
  const command_result done = run(rewrite + "-i a");
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.errors, HasSubstr("a/x.c: 1 of 1 loop; 1 of 1 lines, 100.0 %\n"));
  EXPECT_EQ(contents_of(file("a/b/y.F")), "c$omp do schedule(runtime)\n");
  EXPECT_EQ(contents_of(file("a/notes.txt")), "#pragma omp for\n");
  EXPECT_EQ(run(rewrite + "--undo a").status, 0);
  EXPECT_EQ(contents_of(file("a/x.c")), "#pragma omp for\n");
  EXPECT_EQ(contents_of(file("a/b/y.F")), "c$omp do\n");
  EXPECT_THAT(run(rewrite + "--undo a").errors, HasSubstr("nothing was rewritten there"));
  fs::create_directory(file("empty"));
  EXPECT_THAT(run(rewrite + "empty").errors, HasSubstr("empty: no C, C++ or Fortran source"));
}

TEST_F(omp_rewrite_command, output_keeps_the_folders_and_refuses_two_files_of_one_name) {
  fs::create_directories(file("a"));
  fs::create_directories(file("b"));
  write_file(file("a/x.c"), "#pragma omp for\n");
  write_file(file("b/x.c"), "int unchanged;\n");
  ASSERT_EQ(run(rewrite + "--output new a/x.c ./b/x.c").status, 0);
  EXPECT_EQ(contents_of(file("new/a/x.c")), "#pragma omp for schedule(runtime)\n");
  EXPECT_EQ(contents_of(file("new/b/x.c")), "int unchanged;\n");
  const command_result refused = run("cd a && " + rewrite + "--output new ../a/x.c ../b/x.c");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.errors, HasSubstr("would both become new/x.c"));
  EXPECT_FALSE(fs::exists(file("a/new")));
}

TEST_F(omp_rewrite_command, wrong_input_is_one_line_that_says_what_is_right) {
  write_file(file("x.inc"), "!$omp do\n");
  const auto errors_of = [&](const std::string& options) {
    const command_result result = run(rewrite + options);
    EXPECT_EQ(result.status, 2) << options;
    return result.errors;
  };
  EXPECT_THAT(errors_of("missing.c"), HasSubstr("missing.c: cannot be read: No such file"));
  EXPECT_THAT(errors_of("x.inc"), HasSubstr("--language says it"));
  EXPECT_THAT(errors_of("--language fixd x.inc"), HasSubstr("did you mean 'fixed'"));
  EXPECT_THAT(errors_of("--in-plase x.inc"), HasSubstr("did you mean --in-place"));
  EXPECT_THAT(errors_of("-i --undo x.inc"), HasSubstr("excludes"));
  EXPECT_THAT(errors_of("--color sometimes --language free x.inc"), HasSubstr("auto, always or never"));
  EXPECT_THAT(errors_of("--fixed-line-length 7 x.inc"), HasSubstr("40"));
  EXPECT_THAT(errors_of(""), HasSubstr("files is required"));
  EXPECT_THAT(run(rewrite + "--language free x.inc").output, HasSubstr("+!$omp do schedule(runtime)"));
  // One bad file does not keep the others from being done.
  write_file(file("y.c"), "#pragma omp for\n");
  EXPECT_THAT(errors_of("-i missing.c y.c"), HasSubstr("y.c: 1 of 1"));
  EXPECT_EQ(contents_of(file("y.c")), "#pragma omp for schedule(runtime)\n");
}

TEST_F(omp_rewrite_command, help_teaches_with_examples) {
  const command_result help = run(rewrite + "--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, HasSubstr("trireme omp-rewrite -i src/"));
  EXPECT_THAT(help.output, HasSubstr("--undo"));
  EXPECT_THAT(run(TRIREME_COMMAND " --help").output, HasSubstr("omp-rewrite"));
}

}  // namespace
}  // namespace tri::testing
