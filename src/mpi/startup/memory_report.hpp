// What a process under the drop-in tells about its memory. `trireme info --mpi` starts itself under each drop-in
// library and asks for the function by its name, so that it reports what the library does and not what it should do.
#pragma once

#include <cstddef>

namespace tri::mpi {

struct memory_report {
  const char* heap_reason;         // why there is no shared heap; empty when there is one
  const char* static_data_reason;  // why static data was left where it is although there is some; else empty
  /// Where the other ranks of the host reach those bytes; null: nowhere.
  void* (*shared_address)(const void* address, std::size_t bytes);
};

using memory_report_function = memory_report (*)();
inline constexpr const char* memory_report_name = "trireme_mpi_memory_report";

}  // namespace tri::mpi
