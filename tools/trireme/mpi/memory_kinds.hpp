// Which memory of a program the other ranks of its host reach, found out by asking the drop-in in a process that runs
// under it: this program, started once more.
#pragma once

#include <string>
#include <vector>

namespace tri::tools {

/// The option of `trireme info` that makes it that process. Not in the help: it answers another trireme.
inline constexpr const char* memory_kinds_option = "--mpi-memory-of-this-process";

enum class reach : unsigned char { nowhere, same_address, alias };

struct memory_kind {
  std::string name;    // for programs: "heap"
  std::string people;  // what belongs to it
  reach from_others = reach::nowhere;
};

struct memory_kinds {
  std::vector<memory_kind> kinds;
  std::string heap_reason;         // why there is no shared heap
  std::string static_data_reason;  // why static data is not reached
  std::string library_version;     // as reported by MPI
  std::string problem;             // the process gave no answer; then the rest is empty
};

/// In the process itself: answers on stdout. Returns the exit status.
int print_memory_kinds();

/// Starts the process with those libraries before all others and reads its answer.
memory_kinds memory_kinds_under(const std::string& drop_in, const std::string& mpi_library);

}  // namespace tri::tools
