// All options of a process, one typed member for each row of configuration_table.hpp. Set from the environment
// (TRIREME_<NAME>) and the command line (--tri-<name> value, --tri-<name>=value), the command line wins. Read once at
// start-up by the main thread; a value afterwards. Reads nothing but its arguments and the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/configuration_table.hpp"
#include "config/option_kinds.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::config {

// The thread sanitizer leaves only a little address space to programs.
inline constexpr std::size_t default_arena_window_bytes = std::size_t{os::under_thread_sanitizer ? 4 : 64} << 30;

// Names, values and what would be right: the text is meant for the user.
class configuration_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

enum class value_origin : std::uint8_t { default_value, environment, command_line, program };
const char* to_string(value_origin origin);

struct configuration {
#define TRIREME_MEMBER(type, name, value, unit, allowed, help) type name = value;
  TRIREME_OPTIONS(TRIREME_MEMBER)
#undef TRIREME_MEMBER

  // Defaults, then the environment, then the --tri-* arguments, which are removed from argv (argc is updated and
  // argv[argc] stays null). Arguments after "--" are left alone. A switch may stand alone (--tri-counters); it takes
  // the next argument only if that is on, off, true, false, yes, no, 1 or 0. Throws configuration_error.
  static configuration from(int& argc, char** argv);

  // The same with an explicit environment ("NAME=value" strings), which tests use.
  static configuration from(int& argc, char** argv, const std::vector<std::string>& environment);

  // Sets one option from text; `name` as in the table. Throws configuration_error for an unknown name or a bad value.
  void set(std::string_view name, std::string_view value, value_origin origin = value_origin::program);

  std::string text_of(std::string_view name) const;  // the value as set() would read it
  value_origin origin_of(
      std::string_view name) const;  // of the last from() or set(); assigning a member does not count

 private:
  std::vector<value_origin> origins_;  // by row; empty = all defaults
};

// One row as text, for help, listings and documentation.
struct option_description {
  std::string name, kind, default_value, unit, allowed, help;
  std::string environment_variable() const;  // TRIREME_INBOX_CELLS
  std::string option() const;                // --tri-inbox-cells
};
const std::vector<option_description>& option_table();

// The table with current values and where each came from, one row per option, for people.
std::string configuration_listing(const configuration& values);

// The variables that the launcher sets for the processes of a job. Known, but not options.
inline constexpr const char* job_variable = "TRIREME_JOB";
inline constexpr const char* process_variable = "TRIREME_PROCESS";
inline constexpr const char* processes_variable = "TRIREME_PROCESSES";
inline constexpr const char* machines_variable = "TRIREME_MACHINES";
inline constexpr const char* machine_names_variable = "TRIREME_MACHINE_NAMES";  // separated by commas

}  // namespace tri::config
