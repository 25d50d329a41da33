#include "manual/command_page.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "command_line.hpp"
#include "config/configuration.hpp"
#include "config/variable_names.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + separator.size(), text.size()));
  }
  return parts;
}

// The line "Usage: ..." of `--help`, which some subcommands write themselves.
std::string usage_of(const CLI::App& app, const std::string& name) {
  constexpr std::string_view mark = "Usage: ";
  const std::string help = app.get_name() == name ? app.help() : app.help(name);
  const std::size_t begin = std::min(help.find(mark), help.size() - mark.size()) + mark.size();
  return help.substr(begin, help.find('\n', begin) - begin);
}

// CLI11 puts a type and what its checks allow into one text: "N:1 .. 4096", "TEXT:{auto,loops,run}".
option_page page_of(const CLI::Option& option) {
  option_page page;
  for (const std::string& name : option.get_snames()) page.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) page.names.push_back("--" + name);
  if (page.names.empty()) page.names.push_back(option.get_name(true));
  page.help = option.get_description();
  page.repeats = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() == 0) return page;
  const std::string type = option.get_type_name();
  const std::size_t colon = std::min(type.find(':'), type.size());
  page.value = type.substr(0, colon);
  page.allowed = colon < type.size() ? type.substr(colon + 1) : "";
  if (page.allowed.starts_with('{') && page.allowed.ends_with('}')) {
    page.choices = split(std::string_view(page.allowed).substr(1, page.allowed.size() - 2), ",");
    page.allowed = fmt::format("{}", fmt::join(page.choices, ", "));
  }
  return page;
}

void fill_in(command_page& page, const CLI::App& app) {
  page.description = app.get_description();
  page.footer = app.get_footer();
  page.usage = usage_of(app, page.name);
  page.starts_program = app.get_prefix_command();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not meant for people, or in the table of options
    (option->get_positional() ? page.arguments : page.options).push_back(page_of(*option));
  }
  for (const CLI::App* below : app.get_subcommands({})) {
    command_page inner;
    inner.name = page.name + " " + below->get_name();
    inner.summary = below->get_description();
    fill_in(inner, *below);
    page.commands.push_back(std::move(inner));
  }
}

void forget_own_variables() {
  for (const std::string& entry : config::environment_of_this_process())
    if (entry.starts_with("TRIREME_")) unsetenv(entry.substr(0, entry.find('=')).c_str());
}

}  // namespace

command_page front_page() {
  command_page page;
  page.name = "trireme";
  page.summary = "message-driven objects, parallel loops, accelerators for MPI and OpenMP programs";
  page.description =
      "Trireme is a C++20 parallel runtime: message-driven objects, parallel loops, and libraries that accelerate "
      "existing "
      "MPI and OpenMP programs. This command starts programs, shows what the machine offers, and measures.";
  page.usage = "trireme <command> [options]";
  page.options = {
      {{"-h", "--help"}, "", "", {}, "these lines; `trireme <command> --help` explains a command with examples"},
      {{"--version"}, "", "", {}, "the version"}};
  page.footer =
      "Examples:\n"
      "  trireme run -n 2 --pes 2 ./app      two processes with two PEs each\n"
      "  mpirun -n 8 trireme exec ./app      an unmodified MPI program, faster inside the host\n"
      "  trireme exec --omp ./app            an unmodified OpenMP program with our loop schedules\n"
      "  trireme info                        what this machine offers\n"
      "  trireme info --config               all options, their values and where these come from\n";
  for (const subcommand& each : subcommands()) {
    command_page below;
    below.name = fmt::format("trireme {}", each.name);
    below.summary = each.summary;
    below.takes_job_options = each.takes_job_options;
    page.commands.push_back(std::move(below));
  }
  return page;
}

command_page all_pages() {
  forget_own_variables();
  command_page page = front_page();
  for (std::size_t i = 0; i < subcommands().size(); ++i) {
    command_page& below = page.commands[i];
    visit_app(subcommands()[i].run, below.name, [&](const CLI::App& app) { fill_in(below, app); });
  }
  return page;
}

std::vector<option_page> job_options() {
  constexpr std::string_view list = "one of ";
  std::vector<option_page> all;
  for (const config::option_description& row : config::option_table()) {
    option_page page;
    page.names = {row.option()};
    page.value = row.kind;
    page.allowed = row.allowed;
    page.help = row.help;
    if (row.kind == "switch") page.choices = {"on", "off"};
    if (row.allowed.starts_with(list)) page.choices = split(std::string_view(row.allowed).substr(list.size()), ", ");
    all.push_back(std::move(page));
  }
  return all;
}

}  // namespace tri::tools
