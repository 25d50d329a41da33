// `trireme manual`: writes the manual pages of this command. The build calls it for the pages that are installed.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "command_line.hpp"
#include "manual/man_page.hpp"
#include "subcommands.hpp"
#include "trireme/version.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* footer =
    "The pages are made from what `--help` prints and from the table of options. They are trireme(1), one page for "
    "each\n"
    "subcommand, and trireme-config(7).\n"
    "\n"
    "Examples:\n"
    "  trireme manual /tmp/man && man -M /tmp/man trireme-run";

void write(const fs::path& folder, int section, const std::string& name, const std::string& text) {
  const fs::path below = folder / fmt::format("man{}", section);
  fs::create_directories(below);
  const fs::path path = below / fmt::format("{}.{}", name, section);
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be written", path.string()));
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

}  // namespace

int manual_command(int argc, char** argv) {
  CLI::App app("Writes the manual pages of this command into a folder.", "trireme manual");
  app.footer(footer);
  std::string folder;
  page_origin origin{std::string(tri::version()), ""};
  app.add_option("folder", folder, "where man1 and man7 are made")->required()->type_name("FOLDER");
  app.add_option("--date", origin.date, "the date at the end of each page, such as 2026-11-23; today by default")
      ->type_name("DATE");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  if (origin.date.empty()) origin.date = today();
  const command_page front = all_pages();
  write(folder, 1, man_name(front), man_page_of(front, origin));
  for (const command_page& each : front.commands) write(folder, 1, man_name(each), man_page_of(each, origin));
  write(folder, 7, "trireme-config", man_page_of_options(origin));
  return 0;
}

}  // namespace tri::tools
