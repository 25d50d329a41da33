#include <fmt/format.h>

#include <string_view>

#include "manual/completion.hpp"

namespace tri::tools {
namespace {

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string row_of(const std::string& condition, const option_page& option) {
  std::string row = fmt::format("complete -c trireme -n {}", single_quoted(condition));
  for (const std::string& name : option.names)
    row += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.choices.empty())
    row += " -x -a " + single_quoted(fmt::format("{}", fmt::join(option.choices, " ")));
  else if (option.value == "FILE")
    row += " -r -F";
  else if (option.value == "FOLDER")
    row += " -x -a '(__fish_complete_directories)'";
  else if (!option.value.empty())
    row += " -x";
  return row + " -d " + single_quoted(option.help) + "\n";
}

std::string rows_of(const command_page& command) {
  const std::string condition = fmt::format("__trireme_at {}", command.name);
  std::string text;
  for (const command_page& below : command.commands) {
    text += fmt::format("complete -c trireme -n {} -a {} -d {}\n", single_quoted(condition), below.last_word(),
                        single_quoted(below.summary));
  }
  for (const option_page& option : command.options) text += row_of(condition, option);
  if (command.takes_job_options)
    for (const option_page& option : job_options()) text += row_of(condition, option);
  for (const option_page& argument : command.arguments) {
    const std::string from = argument.value == "FOLDER" ? "-a '(__fish_complete_directories)'"
                             : argument.choices.empty()
                                 ? "-F"
                                 : "-a " + single_quoted(fmt::format("{}", fmt::join(argument.choices, " ")));
    text += fmt::format("complete -c trireme -n {} {}\n", single_quoted(condition), from);
  }
  if (command.starts_program) {
    text += fmt::format("complete -c trireme -n {} -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n",
                        single_quoted(fmt::format("__trireme_at {}", command.name)));
  }
  for (const command_page& below : command.commands) text += rows_of(below);
  return text;
}

std::string subcommands_of(const command_page& command) {
  std::string text;
  for (const command_page& below : command.commands)
    text += fmt::format(" {}{}", single_quoted(below.name), subcommands_of(below));
  return text;
}

}  // namespace

std::string fish_completion(const command_page& front) {
  std::string text = "# fish completion of trireme, written by `trireme completion fish`\n\n";
  text += "set -g __trireme_subcommands" + subcommands_of(front) + R"(

# The subcommand, and perhaps one below it, that the command line has so far; "trireme" without.
function __trireme_command
    set -l words (commandline -opc)
    set -l found trireme
    for word in $words[2..]
        contains -- "$found $word" $__trireme_subcommands; or break
        set found "$found $word"
    end
    echo $found
end

function __trireme_at
    test (__trireme_command) = "$argv"
end

complete -c trireme -f
)";
  return text + rows_of(front);
}

}  // namespace tri::tools
