// How subcommands read their options: errors give one line with the valid form, and status 2.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tri::tools {

inline constexpr int usage_status = 2;
inline constexpr int cannot_start_status = 127;  // as shells do

/// The exit status if the subcommand is done already: after --help, or with an error that was printed.
std::optional<int> parse_options(CLI::App& app, int argc, char** argv);

/// The same for subcommands that run a program: the first word that is not an option, and all behind it, become
/// `command`. The app must have prefix_command().
std::optional<int> parse_program_options(CLI::App& app, int argc, char** argv, std::vector<std::string>& command);

/// Calls a subcommand so that it describes its options instead of reading them: its app for parse_options() or
/// parse_program_options() is passed to `see`, and the subcommand ends. `name` is "trireme <command>".
void visit_app(int (*subcommand)(int argc, char** argv), std::string name,
               const std::function<void(const CLI::App&)>& see);

/// Checks of values, with the allowed ones in the help and in the message. "N" or "X" in the help means the value.
CLI::Validator whole_number_between(std::int64_t least, std::int64_t largest);
CLI::Validator number_between(double least, double largest);
CLI::Validator number_above_zero();

/// Turns 100k into 100000 and 2M into 2000000, before another check sees the value.
CLI::Validator with_thousands();

/// The same for bytes, as everywhere else: 64k is 65536, 2M is 2097152 and 1G is 1073741824.
CLI::Validator with_byte_units();

/// Is the file descriptor a terminal that may get colours, by `wish`: auto, always or never? NO_COLOR is honoured.
/// Throws std::invalid_argument for another wish.
bool wants_colour(const std::string& wish, int file_descriptor);

}  // namespace tri::tools
