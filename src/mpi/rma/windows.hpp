// The intercepted windows: created on an intercepted communicator, with memory that all ranks of the host can access,
// so that the origin accesses the target's memory itself, whatever the target does. For each the MPI library has a
// window of its own, with the same handle, for attributes, names, groups and error handlers; it never starts an epoch.
// Any other handle is the library's alone. With the call guard.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/abi/counted_calls.hpp"
#include "mpi/comm/error_handlers.hpp"
#include "mpi/rma/engine/access_epochs.hpp"
#include "mpi/rma/engine/repeated_reads.hpp"
#include "mpi/rma/engine/window_ranks.hpp"
#include "mpi/startup/library_calls.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {

/// The memory of one rank, as mapped in this process.
struct window_memory {
  std::byte* base = nullptr;
  std::int64_t bytes = 0;
  std::int64_t unit = 1;  // of displacements
};

struct window {
  MPI_Win handle = MPI_WIN_NULL;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  window_ranks ranks;
  std::vector<window_memory> memory;  // of each rank
  std::byte* own_block = nullptr;     // of the arena, when the window brought its memory
  access_epochs epochs;
  repeated_reads reads;
  bool all_have_come = false;  // to MPI_Win_free; a delete function of the program has refused since

  window(MPI_Win library, int made_as, std::vector<window_part*> parts, std::uint32_t rank)
      : handle(library), flavor(made_as), ranks(std::move(parts), rank), epochs(ranks.size()) {}
  bool has(int rank) const { return rank >= 0 && rank < static_cast<int>(ranks.size()); }
};

class windows {
 public:
  /// Null: not ours. The most recently used one is cached.
  static window* find(MPI_Win handle);
  static void add(std::unique_ptr<window> made);
  static std::unique_ptr<window> remove(MPI_Win handle);
};

/// A call on a window: `body(session, window)` with the call guard when it is ours, `library()` otherwise. Errors of
/// the body (MPI error classes) go to the window's error handler, without the guard: it may call MPI.
template <class Body, class Library>
int on_window(MPI_Win handle, Body&& body, Library&& library, const char* name = __builtin_FUNCTION()) {
  bool is_intercepted = false;
  const int error = counted(
      {.name = name, .is_on_window = true},
      [&](session& in) {
        window* const known = windows::find(handle);
        if (known == nullptr) return pass_through;
        is_intercepted = true;
        return body(in, *known);
      },
      [&] { return waiting_in_library(library); });
  return is_intercepted && error != MPI_SUCCESS ? report_on_window(handle, error, name) : error;
}

}  // namespace tri::mpi
