// `trireme agent` alone, for tests that need nothing else of the command.
#include <cstdio>
#include <exception>

#include "launch/agent.hpp"

int main() {
  try {
    return tri::launch::run_agent([](int, const std::string&) { return std::string(); });
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "agent: %s\n", problem.what());
    return 1;
  }
}
