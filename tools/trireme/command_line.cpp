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

std::string explain_extras(const CLI::App& app) {
  std::vector<std::string> names{"-h"};
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const std::string& word : app.remaining()) {
    if (!word.starts_with("-")) return fmt::format("'{}' is one argument too many", word);
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown option {}; did you mean {}?", name, host::nearest_name(name, names));
  }
  return {};
}

}  // namespace

std::optional<int> parse_options(CLI::App& app, int argc, char** argv) {
  try {
    app.allow_extras();
    app.parse(argc, argv);
    const std::string extras = explain_extras(app);
    if (extras.empty()) return std::nullopt;
    throw CLI::ExtrasError(extras, CLI::ExitCodes::ExtrasError);
  } catch (const CLI::Success& request) {  // --help
    return app.exit(request);
  } catch (const CLI::ParseError& problem) {
    fmt::print(stderr, "{0}: {1}; `{0} --help` shows the options\n", app.get_name(), problem.what());
    return usage_status;
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
