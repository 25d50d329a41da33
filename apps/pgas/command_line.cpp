// See command_line.hpp.
#include "pgas/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "option_range.hpp"
#include "trireme/run.hpp"

namespace pgas {
namespace {

CLI::Validator one_of(const std::vector<std::string>& allowed) {
  return {[=](const std::string& text) {
            if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return std::string();
            return fmt::format("'{}' is not possible; expected one of: {}", text, fmt::join(allowed, ", "));
          },
          ""};
}

}  // namespace

command_line::command_line(const std::string& program, const std::string& what_it_does)
    : program_(program),
      app_(std::make_unique<CLI::App>(fmt::format("{}\nRun it alone (./{} --tri-pes 4) or by: trireme run -n 4 ./{}",
                                                  what_it_does, program, program),
                                      program)) {}
command_line::~command_line() = default;

command_line& command_line::number(const std::string& name, std::int64_t& value, std::int64_t least, std::int64_t most,
                                   const std::string& help) {
  app_->add_option(name, value, help)->check(apps::from_to(least, most))->type_name("N")->capture_default_str();
  return *this;
}

command_line& command_line::word(const std::string& name, std::string& value, const std::vector<std::string>& allowed,
                                 const std::string& help) {
  app_->add_option(name, value, fmt::format("{}: {}", help, fmt::join(allowed, ", ")))
      ->check(one_of(allowed))
      ->type_name("WORD")
      ->capture_default_str();
  return *this;
}

command_line& command_line::versions(version_choice& chosen, const std::vector<std::string>& known) {
  chosen.names = known;
  app_->add_option("--versions", chosen.names, fmt::format("some of: {}", fmt::join(known, ",")))
      ->delimiter(',')
      ->check(one_of(known))
      ->type_name("LIST");
  app_->add_flag("--times", chosen.prints_times, "print the seconds of each run, too");
  return number("--repeats", chosen.repeats, 1, 1000, "runs of each version, of which the shortest counts");
}

std::optional<int> command_line::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    if (tri::this_pe() == 0) std::fputs(app_->help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  return std::nullopt;
}

int command_line::refuse(const std::string& fault) const {
  if (tri::this_pe() == 0) fmt::print(stderr, "{}: {} (--help lists the options)\n", program_, fault);
  return 2;
}

}  // namespace pgas
