// Runs a Trireme program inside a test: this process alone, with so many PEs. One run at a time; any number one after
// another. Called on the test's thread, which becomes PE 0.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trireme/objects.hpp"

namespace tri::testing {

template <class Main>
int run_on_pes(int pes, Main&& main_program, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"test", "--tri-pes=" + std::to_string(pes)});
  std::vector<char*> arguments;
  for (std::string& option : options) arguments.push_back(option.data());
  arguments.push_back(nullptr);
  return tri::run(static_cast<int>(options.size()), arguments.data(), std::forward<Main>(main_program));
}

}  // namespace tri::testing
