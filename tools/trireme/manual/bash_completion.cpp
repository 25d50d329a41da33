#include <fmt/format.h>

#include "manual/completion.hpp"

namespace tri::tools {
namespace {

// The possible values, or what the shell must look up.
std::string values_of(const option_page& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, " "));
  if (option.value == "FILE") return "@file";
  if (option.value == "FOLDER") return "@folder";
  return "@text";
}

std::string value_row(const std::string& command, const option_page& option) {
  std::string pattern;
  for (const std::string& name : option.names)
    pattern += fmt::format("{}'{} {}'", pattern.empty() ? "" : "|", command, name);
  return fmt::format("    {}) echo '{}' ;;\n", pattern, values_of(option));
}

struct tables {
  std::string words;     // the words allowed as a subcommand, by command
  std::string options;   // by command
  std::string values;    // by command and option
  std::string programs;  // commands that start a program
};

void add(const command_page& command, tables& into) {
  std::string words, options;
  for (const command_page& below : command.commands)
    words += fmt::format("{}{}", words.empty() ? "" : " ", below.last_word());
  for (const option_page& argument : command.arguments)
    if (!argument.choices.empty())
      words += fmt::format("{}{}", words.empty() ? "" : " ", fmt::join(argument.choices, " "));
  for (const option_page& option : command.options) options += fmt::format(" {}", fmt::join(option.names, " "));
  if (!words.empty()) into.words += fmt::format("    '{}') echo '{}' ;;\n", command.name, words);
  into.options += fmt::format("    '{}') echo '{}'", command.name, options.empty() ? options : options.substr(1));
  if (command.takes_job_options) into.options += "; echo \"$_trireme_job_options\"";
  into.options += " ;;\n";
  for (const option_page& option : command.options)
    if (!option.value.empty()) into.values += value_row(command.name, option);
  if (command.starts_program) into.programs += fmt::format("{}'{}'", into.programs.empty() ? "" : "|", command.name);
  for (const command_page& below : command.commands) add(below, into);
}

constexpr const char* script = R"bash(# bash completion of trireme, written by `trireme completion bash`
_trireme_job_options='@job_options@'

# The subcommands below a command, or the values of its argument.
_trireme_words() {
  case $1 in
@words@  esac
}

_trireme_options() {
  case $1 in
@options@  esac
}

# What follows an option of a command: words, or @file, @folder, @text. Nothing: the option has no value.
_trireme_values() {
  case "$1 $2" in
@values@  esac
  case $2 in
@job_option_values@  esac
}

_trireme_starts_program() {
  case $1 in
    @programs@) return 0 ;;
  esac
  return 1
}

_trireme_answer() {  # WORDS|@file|@folder|@text WORD
  case $1 in
    @file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    @folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    @text) ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2") ;;
  esac
}

_trireme() {
  local word=${COMP_WORDS[COMP_CWORD]} command=trireme option= each i values
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    each=${COMP_WORDS[i]}
    if [[ $each == = ]]; then continue; fi  # bash makes three words of --option=value
    if [[ -n $option ]]; then
      values=$(_trireme_values "$command" "$option")
      option=
      # This word is the value, unless the option is a switch, which may stand alone.
      if [[ $values != 'on off' || $each == on || $each == off ]]; then continue; fi
    fi
    if [[ $each == -- ]]; then i=$((i + 1)); break; fi
    if [[ $each == -* ]]; then
      if [[ -n $(_trireme_values "$command" "$each") ]]; then option=$each; fi
      continue
    fi
    if _trireme_starts_program "$command"; then break; fi
    if [[ " $(_trireme_words "$command") " == *" $each "* ]]; then command="$command $each"; fi
  done
  if _trireme_starts_program "$command" && { ((i < COMP_CWORD)) || [[ ${COMP_WORDS[COMP_CWORD - 1]} == -- ]]; }; then
    # The program and its own words.
    if declare -F _command_offset >/dev/null; then _command_offset "$i"; else _trireme_answer @file "$word"; fi
    return
  fi
  if [[ -n $option ]]; then
    if [[ $word == = ]]; then word=; fi
    values=$(_trireme_values "$command" "$option")
    if [[ $values != 'on off' || $word != -* ]]; then _trireme_answer "$values" "$word"; return; fi
  fi
  if [[ $word == -* ]]; then
    _trireme_answer "$(_trireme_options "$command")" "$word"
  elif [[ -n $(_trireme_words "$command") ]]; then
    _trireme_answer "$(_trireme_words "$command")" "$word"
  elif _trireme_starts_program "$command"; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
  else
    _trireme_answer @file "$word"
  fi
}
complete -F _trireme trireme
)bash";

std::string replaced(std::string text, const std::string& mark, const std::string& with) {
  return text.replace(text.find(mark), mark.size(), with);
}

}  // namespace

std::string bash_completion(const command_page& front) {
  tables all;
  add(front, all);
  std::string names, job_option_values;
  for (const option_page& option : job_options()) {
    names += (names.empty() ? "" : " ") + option.names.front();
    job_option_values += fmt::format("    {}) echo '{}' ;;\n", option.names.front(), values_of(option));
  }
  std::string text = replaced(script, "@job_options@", names);
  text = replaced(text, "@words@", all.words);
  text = replaced(text, "@options@", all.options);
  text = replaced(text, "@values@", all.values);
  text = replaced(text, "@job_option_values@", job_option_values);
  return replaced(text, "@programs@", all.programs);
}

}  // namespace tri::tools
