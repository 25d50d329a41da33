#include "config/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>

#include "config/option_value.hpp"
#include "config/suggestion.hpp"
#include "config/variable_names.hpp"

namespace tri::config {
namespace {

constexpr std::string_view variable_prefix = "TRIREME_";
constexpr std::string_view option_prefix = "--tri-";

struct row {
  option_description description;
  std::function<void(configuration&, std::string_view)> read;
  std::function<std::string(const configuration&)> write;
};

template <class T>
row make_row(const char* name, T configuration::*member, const char* unit, const allowed_values& allowed,
             const char* help) {
  row made;
  const configuration defaults;
  made.description = {name, option_value<T>::kind, option_value<T>::write(defaults.*member, allowed),
                      unit, allowed.text,          help};
  made.read = [=](configuration& into, std::string_view text) { into.*member = option_value<T>::read(text, allowed); };
  made.write = [=](const configuration& from) { return option_value<T>::write(from.*member, allowed); };
  return made;
}

const std::vector<row>& rows() {
  static const std::vector<row> all{
#define TRIREME_ROW(type, name, value, unit, allowed, help) \
  make_row<type>(#name, &configuration::name, unit, allowed, help),
      TRIREME_OPTIONS(TRIREME_ROW)
#undef TRIREME_ROW
  };
  return all;
}

constexpr std::size_t not_found = static_cast<std::size_t>(-1);

std::size_t find_row(std::string_view name) {
  for (std::size_t i = 0; i < rows().size(); ++i)
    if (rows()[i].description.name == name) return i;
  return not_found;
}

std::string in_case(std::string_view text, int (*convert)(int)) {
  std::string converted(text);
  for (char& c : converted) c = static_cast<char>(convert(static_cast<unsigned char>(c)));
  return converted;
}

std::string with_underscores(std::string_view text) {
  std::string name(text);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// How a user wrote the name of row `i`, for messages: as variable, as option, or plain.
std::string spelling(std::size_t i, value_origin origin) {
  const option_description& row = rows()[i].description;
  if (origin == value_origin::environment) return row.environment_variable();
  if (origin == value_origin::command_line) return row.option();
  return row.name;
}

// What to do about an unknown name: the nearest of all names in the spelling that the user used, and where all are.
std::string advice(std::string_view name, value_origin origin, std::string_view quote) {
  std::vector<std::string> names;
  for (const row& each : rows()) names.push_back(each.description.name);
  const std::string nearest = nearest_name(name, names);
  return fmt::format(
      "{}`trireme info --config` lists all",
      nearest.empty() ? "" : fmt::format("did you mean {0}{1}{0}? ", quote, spelling(find_row(nearest), origin)));
}

void read_environment(configuration& values, const std::vector<std::string>& environment) {
  check_variable_names(environment);
  for (const std::string& entry : environment) {
    if (!entry.starts_with(variable_prefix)) continue;
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string variable = entry.substr(0, equals);
    for (const row& each : rows()) {
      if (each.description.environment_variable() == variable)
        values.set(each.description.name, std::string_view(entry).substr(std::min(equals + 1, entry.size())),
                   value_origin::environment);
    }
  }
}

// Reads the option at argv[i] and says how many arguments it took.
int read_option(configuration& values, int argc, char** argv, int i) {
  const std::string_view argument = std::string_view(argv[i]).substr(option_prefix.size());
  const std::size_t equals = argument.find('=');
  const std::string name = with_underscores(argument.substr(0, equals));
  const std::size_t found = find_row(name);
  if (found == not_found) {
    throw configuration_error(fmt::format("unknown option {}{}; {}", option_prefix, argument.substr(0, equals),
                                          advice(name, value_origin::command_line, "")));
  }
  if (equals != std::string_view::npos) {
    values.set(name, argument.substr(equals + 1), value_origin::command_line);
    return 1;
  }
  const bool is_switch = rows()[found].description.kind == option_value<bool>::kind;
  if (is_switch && (i + 1 == argc || !is_bool_word(argv[i + 1]))) {
    values.set(name, "on", value_origin::command_line);
    return 1;
  }
  if (i + 1 == argc) {
    throw configuration_error(fmt::format("{} needs a value: {}", argv[i], rows()[found].description.allowed));
  }
  values.set(name, argv[i + 1], value_origin::command_line);
  return 2;
}

}  // namespace

const char* to_string(value_origin origin) {
  switch (origin) {
    case value_origin::default_value:
      return "default";
    case value_origin::environment:
      return "environment";
    case value_origin::command_line:
      return "command line";
    case value_origin::program:
      return "program";
  }
  return "?";
}

configuration configuration::from(int& argc, char** argv) { return from(argc, argv, environment_of_this_process()); }

configuration configuration::from(int& argc, char** argv, const std::vector<std::string>& environment) {
  configuration values;
  read_environment(values, environment);
  int kept = 0;
  for (int i = 0; i < argc;) {
    if (i > 0 && std::string_view(argv[i]) == "--") {
      while (i < argc) argv[kept++] = argv[i++];
    } else if (i > 0 && std::string_view(argv[i]).starts_with(option_prefix)) {
      i += read_option(values, argc, argv, i);
    } else {
      argv[kept++] = argv[i++];
    }
  }
  if (kept < argc) argv[kept] = nullptr;
  argc = kept;
  return values;
}

void configuration::set(std::string_view name, std::string_view value, value_origin origin) {
  const std::size_t i = find_row(name);
  if (i == not_found) {
    throw configuration_error(fmt::format("unknown option '{}'; {}", name, advice(name, value_origin::program, "'")));
  }
  try {
    rows()[i].read(*this, value);
  } catch (const std::invalid_argument& problem) {
    throw configuration_error(fmt::format("{} is '{}', but {}", spelling(i, origin), value, problem.what()));
  }
  origins_.resize(rows().size(), value_origin::default_value);
  origins_[i] = origin;
}

std::string configuration::text_of(std::string_view name) const {
  const std::size_t i = find_row(name);
  if (i == not_found) throw configuration_error(fmt::format("unknown option '{}'", name));
  return rows()[i].write(*this);
}

value_origin configuration::origin_of(std::string_view name) const {
  const std::size_t i = find_row(name);
  if (i == not_found) throw configuration_error(fmt::format("unknown option '{}'", name));
  return origins_.empty() ? value_origin::default_value : origins_[i];
}

std::string option_description::environment_variable() const {
  return std::string(variable_prefix) + in_case(name, std::toupper);
}

std::string option_description::option() const {
  std::string option = std::string(option_prefix) + name;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

const std::vector<option_description>& option_table() {
  static const std::vector<option_description> all = [] {
    std::vector<option_description> descriptions;
    for (const row& each : rows()) descriptions.push_back(each.description);
    return descriptions;
  }();
  return all;
}

std::string configuration_listing(const configuration& values) {
  std::vector<std::array<std::string, 7>> table{
      {"name", "kind", "default", "unit", "value", "from", "what it does [allowed values]"}};
  for (const option_description& row : option_table()) {
    table.push_back({row.name, row.kind, row.default_value, row.unit, values.text_of(row.name),
                     to_string(values.origin_of(row.name)), fmt::format("{} [{}]", row.help, row.allowed)});
  }
  std::array<std::size_t, 7> widths{};
  for (const auto& line : table)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string listing;
  for (const auto& line : table) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) listing += fmt::format("{:<{}}  ", line[i], widths[i]);
    listing += line.back() + "\n";
  }
  listing +=
      "\nSet one with the environment variable TRIREME_<NAME> or the option --tri-<name>, e.g. TRIREME_PES=4 or "
      "--tri-pes 4.\n\nOther variables, which have no option --tri-<name>:\n";
  for (const other_variable& each : other_variables())
    listing += fmt::format("{:<32}{} [{}]\n", each.name, each.help, each.allowed);
  return listing;
}

}  // namespace tri::config
