// A program of many self-checking cases, run by ctest as threads and as processes:
//   system_program <processes> <PEs per process> [case ...]       without names: all cases except those named crash_*
//   and only_*
// Prints "<case>: ok" for each; a failed check ends the job with its text.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "system/cases/cases.hpp"

int main(int argc, char** argv) {
  using tri::testing::case_entry;
  return tri::run(argc, argv, [](int count, char** words) {
    if (count < 3) throw std::runtime_error("usage: system_program <processes> <PEs per process> [case ...]");
    tri::testing::expected() = {std::atoi(words[1]), std::atoi(words[2])};
    auto& cases = case_entry::all();
    std::sort(cases.begin(), cases.end(), [](const case_entry* a, const case_entry* b) { return a->name < b->name; });
    int ran = 0;
    for (const case_entry* each : cases) {
      const bool named = std::find(words + 3, words + count, each->name) != words + count;
      const bool wanted = count > 3 ? named : !each->name.starts_with("crash_") && !each->name.starts_with("only_");
      if (!wanted) continue;
      std::printf("%s: ", each->name.c_str());
      std::fflush(stdout);
      each->run();
      std::printf("ok\n");
      ++ran;
    }
    tri::testing::check(ran > 0, "no case has one of these names");
  });
}
