#include "command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/suggestion.hpp"

namespace tri::tools {
namespace {

// Set while visit_app() runs a subcommand, by the one thread that is there.
const std::function<void(const CLI::App&)>* the_visitor = nullptr;

bool shown(const CLI::App& app) {
  if (the_visitor == nullptr) return false;
  (*the_visitor)(app);
  return true;
}

[[noreturn]] void unknown_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  throw CLI::ExtrasError(
      fmt::format("unknown option {}{}", name, config::did_you_mean(name, names, "; did you mean ", "?")),
      CLI::ExitCodes::ExtrasError);
}

// CLI11 names a missing value by its type: "--json: 1 required FILE missing". Without an option name the last option of
// the line is meant.
std::string text_of(const CLI::ParseError& problem, int argc, char** argv) {
  const std::string text = problem.what();
  const std::size_t count = text.find(": 1 required ");
  if (count == std::string::npos || !text.ends_with(" missing")) return text;
  std::string name = text.substr(0, count);
  for (int i = 1; i < argc && text.starts_with(':'); ++i)
    if (const std::string_view word = argv[i]; word.starts_with("-")) name = word.substr(0, word.find('='));
  return name + " needs a value";
}

int explain(const CLI::App& app, const CLI::ParseError& problem, int argc, char** argv) {
  fmt::print(stderr, "{0}: {1}; `{0} --help` shows the options\n", app.get_name(), text_of(problem, argc, argv));
  return usage_status;
}

template <class T>
CLI::Validator number_where(const std::string& description, const std::string& right, bool (*allowed)(T, T, T), T least,
                            T largest) {
  return CLI::Validator(
      [=](std::string& text) {
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool read = error == std::errc{} && end == text.data() + text.size();
        return read && allowed(value, least, largest) ? std::string() : fmt::format("'{}' is not {}", text, right);
      },
      description);
}

}  // namespace

std::optional<int> parse_options(CLI::App& app, int argc, char** argv) {
  if (shown(app)) return 0;
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
    return explain(app, problem, argc, argv);
  }
}

std::optional<int> parse_program_options(CLI::App& app, int argc, char** argv, std::vector<std::string>& command) {
  if (shown(app)) return 0;
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
    return explain(app, problem, argc, argv);
  }
}

void visit_app(int (*subcommand)(int argc, char** argv), std::string name,
               const std::function<void(const CLI::App&)>& see) {
  bool seen = false;
  const std::function<void(const CLI::App&)> visitor = [&](const CLI::App& app) {
    seen = true;
    see(app);
  };
  the_visitor = &visitor;
  char* arguments[] = {name.data(), nullptr};
  subcommand(1, arguments);
  the_visitor = nullptr;
  if (!seen) throw std::logic_error(fmt::format("{} ends without having parsed its options", name));
}

CLI::Validator whole_number_between(std::int64_t least, std::int64_t largest) {
  return number_where<std::int64_t>(
      fmt::format("{} .. {}", least, largest), fmt::format("a whole number from {} to {}", least, largest),
      [](std::int64_t value, std::int64_t from, std::int64_t to) { return value >= from && value <= to; }, least,
      largest);
}

CLI::Validator number_between(double least, double largest) {
  return number_where<double>(
      fmt::format("{} .. {}", least, largest), fmt::format("a number from {} to {}", least, largest),
      [](double value, double from, double to) { return value >= from && value <= to; }, least, largest);
}

CLI::Validator number_above_zero() {
  return number_where<double>(
      "above 0", "a number above 0", [](double value, double from, double to) { return value > from && value <= to; },
      0.0, std::numeric_limits<double>::max());
}

CLI::Validator with_thousands() {
  return CLI::Validator(
      [](std::string& text) {
        const std::size_t digits = text.size() - std::min<std::size_t>(text.size(), 1);
        const bool whole = digits > 0 && text.find_first_not_of("0123456789") == digits;
        if (whole && (text.back() == 'k' || text.back() == 'K')) text.replace(digits, 1, "000");
        if (whole && text.back() == 'M') text.replace(digits, 1, "000000");
        return std::string();
      },
      "");
}

CLI::Validator with_byte_units() {
  return CLI::Validator(
      [](std::string& text) {
        if (text.size() < 2 || text.find_first_not_of("0123456789") != text.size() - 1) return std::string();
        const std::size_t unit = std::string_view("kKMG").find(text.back());
        constexpr std::uint64_t factors[] = {1u << 10, 1u << 10, 1u << 20, 1u << 30};
        constexpr std::size_t most_digits = 9;  // times 2^30 fits; what is longer stays as it is, and is refused
        if (unit == std::string_view::npos || text.size() - 1 > most_digits) return std::string();
        text = std::to_string(std::stoull(text) * factors[unit]);
        return std::string();
      },
      "");
}

bool wants_colour(const std::string& wish, int file_descriptor) {
  if (wish == "always") return true;
  if (wish == "never") return false;
  if (wish != "auto") throw std::invalid_argument(fmt::format("--color is '{}'; auto, always or never", wish));
  const char* const no_colour = std::getenv("NO_COLOR");
  return isatty(file_descriptor) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace tri::tools
