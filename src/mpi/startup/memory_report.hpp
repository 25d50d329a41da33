// A report of a process under the drop-in about its memory. `trireme info --mpi` starts itself under each drop-in
// library and looks the function up by name, so that it reports what the library does and not what it should do.
#pragma once

#include <cstddef>

namespace tri::mpi {

struct memory_report {
  const char* heap_reason;         // why there is no shared heap; empty when there is one
  const char* static_data_reason;  // why static data was not moved although there is some; otherwise empty
  /// The address of those bytes for the other ranks of the host; null: not accessible.
  void* (*shared_address)(const void* address, std::size_t bytes);
};

using memory_report_function = memory_report (*)();
inline constexpr const char* memory_report_name = "trireme_mpi_memory_report";

}  // namespace tri::mpi
