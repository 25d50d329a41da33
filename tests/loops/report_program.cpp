// Runs one loop 40 times, as a plain program or (`job`) as a job, for the report at its end.
#include <cstdio>
#include <stdexcept>
#include <string_view>

#include "trireme/loops.hpp"
#include "trireme/run.hpp"

namespace {
void run_loops() {
  for (int round = 0; round < 40; ++round) {
    tri::parallel_for(1000, [](int) {});
  }
}
}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string_view(argv[argc - 1]) == "job") return tri::run(argc, argv, run_loops);
    run_loops();
    return 0;
  } catch (const std::invalid_argument& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
}
