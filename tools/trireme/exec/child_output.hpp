// What another program writes, when the text is the answer to a question and the program is ours or the loader.
#pragma once

#include <string>
#include <vector>

namespace tri::tools {

/// Runs the program to its end with its errors thrown away; `variables` ("NAME=value") come in place of those of
/// our own environment with the same names. Empty when it cannot be started.
std::string output_of(const std::string& program, const std::vector<std::string>& arguments,
                      const std::vector<std::string>& variables);

/// The libraries that the loader would load with the program ("libm.so.6 => /lib/libm.so.6 (...)", one per line); the
/// program does not run. `preload`: additional libraries, separated by colons.
std::string loader_list(const std::string& program, const std::string& preload = {});

}  // namespace tri::tools
