#include <fmt/format.h>

#include <string_view>

#include "manual/completion.hpp"

namespace tri::tools {
namespace {

// Inside single quotes of the shell and brackets of _arguments.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out;
}

std::string action_of(const option_page& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  if (option.value == "FILE") return "_files";
  if (option.value == "FOLDER") return "_files -/";
  return " ";
}

// '(-n --processes)'{-n+,--processes=}'[number of processes]:N: '
std::string row_of(const option_page& option) {
  std::string spellings;
  for (const std::string& name : option.names) {
    const char* const end = option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
    spellings += fmt::format("{}{}{}", spellings.empty() ? "" : ",", name, end);
  }
  const bool several = option.names.size() > 1;
  std::string row = several ? fmt::format("'({})'{{{}}}", fmt::join(option.names, " "), spellings) : spellings;
  if (option.repeats) row = several ? fmt::format("'*'{{{}}}", spellings) : fmt::format("'*'{}", spellings);
  row += fmt::format("'[{}]", escaped(option.help));
  if (!option.value.empty()) row += fmt::format(":{}:{}", escaped(option.value), action_of(option));
  return row + "'";
}

std::string function_of(const command_page& command) {
  std::string name = "_" + command.name;
  for (char& c : name)
    if (c == ' ' || c == '-') c = '_';
  return name;
}

std::string functions_of(const command_page& command) {
  std::string text;
  for (const command_page& below : command.commands) text += functions_of(below);
  text += fmt::format("{}() {{\n", function_of(command));
  if (!command.commands.empty()) text += "  local curcontext=$curcontext state line\n";
  text += fmt::format("  _arguments -s{}{}", command.commands.empty() ? "" : " -C",
                      command.takes_job_options ? " $_trireme_job_options" : "");
  for (const option_page& option : command.options) text += " \\\n    " + row_of(option);
  if (command.starts_program) text += " \\\n    '(-)1:program:_command_names -e' \\\n    '*::arguments:_normal'";
  for (const option_page& argument : command.arguments) {
    text += fmt::format(" \\\n    '{}:{}:{}'", argument.repeats ? "*" : "", escaped(argument.names.front()),
                        argument.choices.empty() && argument.value != "FOLDER" ? "_files" : action_of(argument));
  }
  if (!command.commands.empty()) {
    text +=
        " \\\n    '1: :->subcommand' \\\n    '*:: :->rest'\n  case $state in\n    subcommand)\n      local -a "
        "subcommands=(";
    for (const command_page& below : command.commands)
      text += fmt::format("\n        '{}:{}'", below.last_word(), escaped(below.summary));
    text += ")\n      _describe subcommand subcommands ;;\n    rest)\n      case $words[1] in\n";
    for (const command_page& below : command.commands)
      text += fmt::format("        {}) {} ;;\n", below.last_word(), function_of(below));
    text += "      esac ;;\n  esac";
  }
  return text + "\n}\n\n";
}

}  // namespace

std::string zsh_completion(const command_page& front) {
  std::string text = "#compdef trireme\n# zsh completion of trireme, written by `trireme completion zsh`\n\n";
  text += "_trireme_job_options=(";
  for (const option_page& option : job_options()) text += "\n  " + row_of(option);
  text += ")\n\n" + functions_of(front);
  // Loaded by compinit from a folder of fpath, or read by `source`.
  return text + "if [[ $funcstack[1] == _trireme ]]; then _trireme \"$@\"; else compdef _trireme trireme; fi\n";
}

}  // namespace tri::tools
