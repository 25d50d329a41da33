#include "command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/suggestion.hpp"

namespace tri::tools {
namespace {

[[noreturn]] void unknown_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  throw CLI::ExtrasError(fmt::format("unknown option {}; did you mean {}?", name, host::nearest_name(name, names)),
                         CLI::ExitCodes::ExtrasError);
}

int explain(const CLI::App& app, const CLI::ParseError& problem) {
  fmt::print(stderr, "{0}: {1}; `{0} --help` shows the options\n", app.get_name(), problem.what());
  return usage_status;
}

}  // namespace

std::optional<int> parse_options(CLI::App& app, int argc, char** argv) {
  try {
    app.allow_extras();
    app.parse(argc, argv);
    if (app.remaining().empty()) return std::nullopt;
    const std::string word = app.remaining().front();
    if (word.starts_with("-")) unknown_option(app, word);
    throw CLI::ExtrasError(fmt::format("'{}' is one argument too many", word), CLI::ExitCodes::ExtrasError);
  } catch (const CLI::Success& request) {  // --help
    return app.exit(request);
  } catch (const CLI::ParseError& problem) {
    return explain(app, problem);
  }
}

std::optional<int> parse_program_options(CLI::App& app, int argc, char** argv, std::vector<std::string>& command) {
  try {
    app.parse(argc, argv);
    command = app.remaining();
    if (!command.empty() && command[0] == "--") {
      command.erase(command.begin());
    } else if (!command.empty() && command[0].starts_with("-")) {
      unknown_option(app, command[0]);
    }
    if (command.empty()) throw CLI::RequiredError("a program");
    return std::nullopt;
  } catch (const CLI::Success& request) {  // --help
    return app.exit(request);
  } catch (const CLI::ParseError& problem) {
    return explain(app, problem);
  }
}

bool wants_colour(const std::string& wish, int file_descriptor) {
  if (wish == "always") return true;
  if (wish == "never") return false;
  if (wish != "auto") throw std::invalid_argument(fmt::format("--color is '{}'; auto, always or never", wish));
  const char* const no_colour = std::getenv("NO_COLOR");
  return isatty(file_descriptor) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace tri::tools
