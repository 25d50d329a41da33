// What makes a shell complete the command `trireme`: one script for each shell, with all subcommands, options and
// values written into it, so that a completion starts no process.
#pragma once

#include <string>

#include "manual/command_page.hpp"

namespace tri::tools {

std::string bash_completion(const command_page& front);
std::string zsh_completion(const command_page& front);
std::string fish_completion(const command_page& front);

}  // namespace tri::tools
