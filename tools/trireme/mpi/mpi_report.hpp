// The report of `trireme info --mpi`: the MPI libraries of this host and the drop-in of each, the path of a large
// message's bytes from and to each kind of memory, and the host's permissions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine_facts.hpp"
#include "mpi/memory_kinds.hpp"

namespace tri::tools {

struct library_report {
  std::string name;     // "Open MPI"
  std::string soname;   // the name that programs request from the loader
  std::string path;     // the file that the loader finds; empty: none
  std::string drop_in;  // ours for it
  memory_kinds memory;  // its `problem` also when there is no drop-in
};

struct mpi_report {
  bool switched_off = false;  // TRIREME_MPI=off
  std::vector<library_report> libraries;
  std::vector<machine_fact> host;
  std::string program;                         // the program of the query; otherwise empty
  std::string program_uses;                    // its library; empty: none of ours
  std::string program_launcher = "mpirun";     // of that library
  bool program_begins_by_inner_names = false;  // its messages stay where they are
  std::string obstacle;                        // why it cannot be helped
};

/// The path of a message of 8 KiB or more with one side in that memory and the other side in the heap.
enum class memory_path : unsigned char {
  shared,  // one copy between the user's buffers, by any rank that waits
  kernel,  // one copy, by system calls
  staged,  // two copies, through shared blocks
  library  // the MPI library's own
};
const char* to_string(memory_path path);
memory_path path_of(const mpi_report& report, const memory_kind& kind);

/// Finds the libraries, starts a process under each, and tries what the host permits. `program`: may be empty. Throws
/// std::invalid_argument for switches with values that they do not have.
mpi_report make_mpi_report(const std::string& program);

nlohmann::json to_json(const mpi_report& report);
std::string to_text(const mpi_report& report);

}  // namespace tri::tools
