// The manual pages and the shell completions, as the programs see them that they are for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "config/configuration.hpp"
#include "config/variable_names.hpp"
#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string trireme = TRIREME_COMMAND;

bool installed(const std::string& program) {
  const temporary_folder folder;
  return run_command(folder.path(), "command -v " + program).status == 0;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// What bash offers for the last of these words, "" for a new one.
std::vector<std::string> bash_offers(const std::string& words, const std::string& files = "") {
  const temporary_folder folder;
  std::ofstream(folder.path() / "ask") << "source <(" << trireme << " completion bash)\n"
                                       << files << "\nCOMP_WORDS=(trireme " << words
                                       << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_trireme 2>>errors\n"
                                       << "printf '%s\\n' \"${COMPREPLY[@]}\"\ngrep -v compopt errors >&2; exit 0\n";
  const command_result done = run_command(folder.path(), "bash --norc ask");
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.errors, IsEmpty());
  return words_of(done.output);
}

class manual_pages : public ::testing::Test {
 protected:
  void SetUp() override {
    const command_result done = run_command(folder_.path(), trireme + " manual --date 2026-11-23 pages");
    ASSERT_EQ(done.status, 0) << done.errors;
    for (const auto& each : fs::recursive_directory_iterator(folder_.path() / "pages"))
      if (each.is_regular_file()) pages_.push_back(each.path());
  }

  std::string shown(const std::string& page) {
    return run_command(folder_.path(), "MANWIDTH=400 LC_ALL=C man -P cat -l pages/" + page).output;
  }

  const temporary_folder folder_;
  std::vector<fs::path> pages_;
};

TEST_F(manual_pages, one_for_each_subcommand_of_the_help) {
  const std::string help = run_command(folder_.path(), trireme + " --help").output;
  std::istringstream lines(help.substr(help.find("Commands:\n") + 10));
  int subcommands = 0;
  for (std::string line; std::getline(lines, line) && !line.empty(); ++subcommands)
    EXPECT_TRUE(fs::exists(folder_.path() / "pages/man1" / ("trireme-" + words_of(line)[0] + ".1"))) << line;
  EXPECT_GE(subcommands, 10);
  EXPECT_EQ(pages_.size(), static_cast<std::size_t>(subcommands) + 2) << "trireme(1), trireme-config(7)";
}

TEST_F(manual_pages, man_and_mandoc_have_no_complaint) {
  if (!installed("man") || !installed("mandoc")) GTEST_SKIP() << "man-db and mandoc are not both installed";
  for (const fs::path& page : pages_) {
    const command_result rendered =
        run_command(folder_.path(), "LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z " +
                                        page.string() + " >/dev/null");
    EXPECT_EQ(rendered.status, 0) << page;
    EXPECT_THAT(rendered.errors, IsEmpty()) << page;
    EXPECT_THAT(run_command(folder_.path(), "mandoc -T lint -W warning " + page.string()).output, IsEmpty()) << page;
  }
}

TEST_F(manual_pages, say_what_help_says) {
  if (!installed("man")) GTEST_SKIP() << "man-db is not installed";
  EXPECT_THAT(shown("man1/trireme-plan.1"), HasSubstr("\n       trireme plan [OPTIONS] collective\n"));
  EXPECT_THAT(shown("man1/trireme-run.1"),
              AllOf(HasSubstr("trireme run [options] [--] program [arguments]"), HasSubstr("-n, --processes, --np N"),
                    HasSubstr("end the job after this many seconds, with status 124"),
                    HasSubstr("trireme run -n 2 --label --timeout 60 ./app"), HasSubstr("trireme-config(7)")));
  EXPECT_THAT(shown("man1/trireme-model.1"), HasSubstr("--send-cost"));
}

TEST_F(manual_pages, config_has_every_option_and_variable) {
  if (!installed("man")) GTEST_SKIP() << "man-db is not installed";
  const std::string text = shown("man7/trireme-config.7");
  for (const config::option_description& row : config::option_table()) {
    EXPECT_THAT(text, HasSubstr(row.option()));
    EXPECT_THAT(text, HasSubstr(row.environment_variable()));
  }
  for (const config::other_variable& each : config::other_variables()) EXPECT_THAT(text, HasSubstr(each.name));
}

TEST(manual_command, does_not_depend_on_variables_of_the_user) {
  const temporary_folder folder;
  EXPECT_EQ(run_command(folder.path(), "TRIREME_PES=nonsense TRIREME_NONE=1 " + trireme + " completion bash").status,
            0);
}

TEST(manual_command, a_folder_that_cannot_be_written_is_named) {
  const temporary_folder folder;
  const command_result done = run_command(folder.path(), "touch file; " + trireme + " manual file");
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, AllOf(HasSubstr("trireme manual: "), HasSubstr("file/man1")));
}

TEST(completion_command, another_shell_is_refused_with_those_that_are_known) {
  const temporary_folder folder;
  const command_result done = run_command(folder.path(), trireme + " completion csh");
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.errors, AllOf(HasSubstr("csh"), HasSubstr("{bash,zsh,fish}")));
}

TEST(bash_completion, verbs_and_what_is_below_them) {
  EXPECT_THAT(bash_offers("ru"), ElementsAre("run"));
  EXPECT_THAT(bash_offers("''"), AllOf(Contains("exec"), Contains("info"), Contains("bench")));
  EXPECT_THAT(bash_offers("--ver"), ElementsAre("--version"));
  EXPECT_THAT(bash_offers("model w"), ElementsAre("waiting"));
  EXPECT_THAT(bash_offers("model waiting --send-"), ElementsAre("--send-cost"));
  EXPECT_THAT(bash_offers("completion z"), ElementsAre("zsh"));
}

TEST(bash_completion, options_and_their_values) {
  EXPECT_THAT(bash_offers("run --proc"), ElementsAre("--processes"));
  EXPECT_THAT(bash_offers("run --tri-idle-"), ElementsAre("--tri-idle-spin-us"));
  EXPECT_THAT(bash_offers("run -n 2 --tri-wire u"), ElementsAre("ucx"));
  EXPECT_THAT(bash_offers("run --tri-wire = m"), ElementsAre("mpi")) << "bash makes three words of --tri-wire=m";
  EXPECT_THAT(bash_offers("info --tri-counters o"), ElementsAre("on", "off"));
  EXPECT_THAT(bash_offers("tune --measure l"), ElementsAre("loops"));
  EXPECT_THAT(bash_offers("bench --json re", "touch result.json other"), ElementsAre("result.json"));
  EXPECT_THAT(bash_offers("run -n 2 --tri-counters --lab"), ElementsAre("--label")) << "a switch may stand alone";
  EXPECT_THAT(bash_offers("bench --tri"), IsEmpty()) << "takes no options";
}

TEST(bash_completion, behind_the_program_its_own_words_begin) {
  EXPECT_THAT(bash_offers("run -n 2 ./ap", "touch app"), ElementsAre("./app"));
  EXPECT_THAT(bash_offers("run -n 2 ./app inp", "touch input.dat"), ElementsAre("input.dat"));
  EXPECT_THAT(bash_offers("run -n 2 ./app --proc"), IsEmpty());
  EXPECT_THAT(bash_offers("exec -- inp", "touch input.dat"), ElementsAre("input.dat"));
}

// Its completions need a terminal to be asked; here it loads the script as it does those of a folder of fpath, and
// _arguments is asked for what it was told.
TEST(zsh_completion, offers_subcommands_and_options) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  const temporary_folder folder;
  run_command(folder.path(), trireme + " completion zsh > _trireme");
  write_file(folder.path() / "ask",
             "fpath=($PWD $fpath)\nautoload -U compinit && compinit -u -D && print -r -- for $_comps[trireme]\n"
             "autoload +X _trireme\n_arguments() { print -rl -- \"$@\" }\ncompdef() { : }\n"
             "source ./_trireme\n_trireme_run\n_trireme_tune\n");
  const command_result done = run_command(folder.path(), "HOME=$PWD zsh -f ask </dev/null");
  EXPECT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.errors, IsEmpty());
  EXPECT_THAT(done.output, AllOf(HasSubstr("for _trireme\n"), HasSubstr("(-n --processes)-n+[number of processes"),
                                 HasSubstr("--tri-wire=["), HasSubstr(":name:(auto tcp ucx mpi)"),
                                 HasSubstr("(-)1:program:_command_names -e"), HasSubstr(":(auto loops run)")));
}

TEST(fish_completion, offers_subcommands_options_and_values) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  const temporary_folder folder;
  run_command(folder.path(), trireme + " completion fish > trireme.fish");
  const auto offers = [&](const std::string& line) {
    const command_result done =
        run_command(folder.path(), "HOME=$PWD fish --no-config -c 'source trireme.fish; complete -C \"" + line + "\"'");
    EXPECT_THAT(done.errors, IsEmpty());
    return done.output;
  };
  EXPECT_THAT(offers("trireme ru"), AllOf(HasSubstr("run\tstart a program"), Not(HasSubstr("repeat"))));
  EXPECT_THAT(offers("trireme run --proc"), HasSubstr("--processes\t"));
  EXPECT_THAT(offers("trireme run --tri-wire u"), HasSubstr("ucx"));
  EXPECT_THAT(offers("trireme model w"), HasSubstr("waiting\t"));
  EXPECT_THAT(offers("trireme tune --measure l"), HasSubstr("loops"));
}

}  // namespace
}  // namespace tri::testing
