// The command line as data. `trireme --help`, the manual pages and the shell completions are generated from it. The
// options are those of the apps with which the subcommands parse, so there is no second list that could differ.
#pragma once

#include <string>
#include <vector>

namespace tri::tools {

struct option_page {
  std::vector<std::string> names;    // "-n", "--processes"; of an argument its one name, without dashes
  std::string value;                 // placeholder of its value, such as FILE; empty: it takes none
  std::string allowed;               // "1 .. 4096"
  std::vector<std::string> choices;  // all its values, where they are few and known
  std::string help;
  bool repeats = false;
};

struct command_page {
  std::string name;         // "trireme run"
  std::string summary;      // one line that continues after the name
  std::string description;  // sentences
  std::string usage;        // "trireme run [options] [--] program [arguments]"
  std::string footer;       // as in `--help`, with its line breaks
  std::vector<option_page> options;
  std::vector<option_page> arguments;
  std::vector<command_page> commands;
  bool starts_program = false;     // the first word that is not an option is a program; what follows is the program's
  bool takes_job_options = false;  // --tri-<name>, those of job_options()

  std::string last_word() const { return name.substr(name.rfind(' ') + 1); }
};

/// The command itself: its subcommands by name and summary only.
command_page front_page();

/// The same with the pages of all subcommands. Removes the variables TRIREME_* from the environment first, as the pages
/// must not depend on the user; so this is for processes that do nothing else.
command_page all_pages();

/// The options --tri-<name>, in the order of the table of options.
std::vector<option_page> job_options();

}  // namespace tri::tools
