// The frame that md and md_serial share: command line, input, and errors as messages with an exit status.
#pragma once

#include <functional>
#include <string>

#include "md/options.hpp"

namespace md {

/// Parses the command line, loads the input and calls `simulate`. Returns the exit status: 0, or 1 after a message on
/// standard error.
int run_program(const std::string& name, const std::string& description, int argc, char** argv,
                const std::function<void(const run_input&, const options&)>& simulate);

}  // namespace md
