// The command `trireme`: finds the subcommand, prints errors once, gives the exit status.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "command_line.hpp"
#include "config/suggestion.hpp"
#include "manual/command_page.hpp"
#include "subcommands.hpp"
#include "trireme/version.hpp"

namespace {

using tri::tools::subcommand;
using tri::tools::subcommands;
using tri::tools::usage_status;

std::string help() {
  const tri::tools::command_page page = tri::tools::front_page();
  std::string text = fmt::format("{}: {}\n\nUsage: {}\n\nCommands:\n", page.name, page.summary, page.usage);
  for (const tri::tools::command_page& each : page.commands)
    text += fmt::format("  {:<13}{}\n", each.last_word(), each.summary);
  text += "\nOptions:\n";
  for (const tri::tools::option_page& each : page.options)
    text += fmt::format("  {:<13}{}\n", fmt::format("{}", fmt::join(each.names, ",")), each.help);
  return text + "\n" + page.footer;
}

constexpr int output_failed_status = 1;

// Reports it once.
int output_failed(const std::string& why) {
  static bool is_said = false;
  if (!is_said) fmt::print(stderr, "trireme: standard output cannot be written: {}\n", why);
  is_said = true;
  return output_failed_status;
}

// Of what left a subcommand.
int say(const std::string& name, const std::exception& problem) {
  const auto* const failed = dynamic_cast<const std::system_error*>(&problem);
  if (failed != nullptr && std::ferror(stdout) != 0) return output_failed(failed->code().message());
  fmt::print(stderr, "{}: {}\n", name, problem.what());
  return usage_status;
}

int run_subcommand(const subcommand& chosen, int argc, char** argv) {
  std::string name = fmt::format("trireme {}", chosen.name);
  std::vector<char*> arguments(argv + 1, argv + argc);
  arguments[0] = name.data();
  arguments.push_back(nullptr);
  try {
    return chosen.run(argc - 1, arguments.data());
  } catch (const std::exception& problem) {
    return say(name, problem);
  }
}

int unknown(std::string_view word) {
  if (word.starts_with("-")) {
    fmt::print(stderr, "trireme: unknown option {}; {}`trireme --help` lists all\n", word,
               tri::config::did_you_mean(word, {"--help", "--version"}, "did you mean ", "? "));
    return usage_status;
  }
  std::vector<std::string> names;
  for (const subcommand& each : subcommands()) names.emplace_back(each.name);
  fmt::print(stderr, "trireme: there is no command '{}'; {}`trireme --help` lists all\n", word,
             tri::config::did_you_mean(word, names, "did you mean '", "'? "));
  return usage_status;
}

int run(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  try {
    if (word.empty()) {
      fmt::print(stderr, "{}", help());
      return usage_status;
    }
    if (word == "--help" || word == "-h" || word == "help") {
      if (word != "help" || argc < 3) {
        fmt::print("{}", help());
        return 0;
      }
      for (const subcommand& each : subcommands()) {
        if (each.name != std::string_view(argv[2])) continue;
        char asks_for_help[] = "--help";
        char* words[] = {argv[0], argv[2], asks_for_help};
        return run_subcommand(each, 3, words);
      }
      return unknown(argv[2]);
    }
    if (word == "--version" || word == "-V" || word == "version") {
      fmt::print("trireme {}\n", tri::version());
      return 0;
    }
    for (const subcommand& each : subcommands())
      if (word == each.name) return run_subcommand(each, argc, argv);
    return unknown(word);
  } catch (const std::exception& problem) {
    return say("trireme", problem);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int status = run(argc, argv);
  const bool is_written = std::fflush(stdout) == 0;
  if (!is_written || std::ferror(stdout) != 0) {
    const int failed = output_failed(is_written ? "a part of it is lost" : std::generic_category().message(errno));
    return status == 0 ? failed : status;
  }
  return status;
}
