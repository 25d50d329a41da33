// Put and get on intercepted windows: copies by the calling rank, done when the call returns.
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "mpi/abi/exported.hpp"
#include "mpi/p2p/requests.hpp"
#include "mpi/rma/engine/shared_work.hpp"
#include "mpi/rma/remote_elements.hpp"
#include "mpi/rma/typed_memory.hpp"
#include "mpi/rma/window_access.hpp"
#include "mpi/rma/windows.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

// The arguments of an operation; counts of either form of the call.
struct origin_side {
  const void* address;
  MPI_Count count;
  MPI_Datatype type;
};
struct target_side {
  int rank;
  MPI_Aint displacement;
  MPI_Count count;
  MPI_Datatype type;
};

// The target's memory is not mapped here.
int transfer_remotely(const window_access& there, const typed_memory& here, bool is_put) {
  const pid_t process = there.part().rank->process;
  if (!can_be_copied_by_kernel(there.memory())) return MPI_ERR_TYPE;
  if (here.bytes() != there.memory().bytes()) return MPI_ERR_TRUNCATE;
  std::vector<std::byte> packed(here.bytes());
  if (is_put) {
    pack(here, packed.data());
    return write_remote(packed.data(), there.memory(), process) ? MPI_SUCCESS : MPI_ERR_OTHER;
  }
  if (!read_remote(there.memory(), process, packed.data())) return MPI_ERR_OTHER;
  unpack(packed.data(), here);
  return MPI_SUCCESS;
}

// Large contiguous copies are shared with all waiting ranks.
void copy(session& in, const typed_memory& from, const typed_memory& to) {
  const bool are_plain = from.type->is_plain && to.type->is_plain && from.address != to.address;
  const std::size_t bytes = std::min(from.bytes(), to.bytes());
  if (!are_plain || !copy_together(in.ranks(), to.start(), from.start(), bytes)) copy_elements(from, to);
}

int transfer_data(session& in, window& on, const origin_side& origin, const target_side& target, bool is_put) {
  window_access there(on, target.rank, target.displacement, target.count, target.type);
  if (there.is_over()) return there.error();
  typed_memory here;
  if (const int error = describe(origin.address, origin.count, origin.type, here)) return error;
  if (!there.is_reached()) return transfer_remotely(there, here, is_put);
  if (is_put) {
    if (there.memory().bytes() < here.bytes()) return MPI_ERR_TRUNCATE;
    copy(in, here, there.memory());
    return MPI_SUCCESS;
  }
  if (here.bytes() < there.memory().bytes()) return MPI_ERR_TRUNCATE;
  copy(in, there.memory(), here);
  if (there.memory().type->is_plain)
    on.reads.read(there.memory().address, there.memory().address, there.memory().bytes());
  return MPI_SUCCESS;
}

template <class Library>
int put(const origin_side& origin, const target_side& target, MPI_Win handle, Library&& library,
        const char* name = __builtin_FUNCTION()) {
  return on_window(
      handle, [&](session& in, window& on) { return transfer_data(in, on, origin, target, true); }, library, name);
}
template <class Library>
int get(const origin_side& origin, const target_side& target, MPI_Win handle, Library&& library,
        const char* name = __builtin_FUNCTION()) {
  return on_window(
      handle, [&](session& in, window& on) { return transfer_data(in, on, origin, target, false); }, library, name);
}

// With a request, complete at once. Only in passive epochs.
template <class Library>
int with_request(const origin_side& origin, const target_side& target, MPI_Win handle, bool is_put,
                 MPI_Request* request, Library&& library, const char* name = __builtin_FUNCTION()) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        if (on.has(target.rank) && !on.epochs.is_passive(static_cast<std::uint32_t>(target.rank)))
          return MPI_ERR_RMA_SYNC;
        if (const int error = transfer_data(in, on, origin, target, is_put)) return error;
        *request = requests::done_send();
        return MPI_SUCCESS;
      },
      library, name);
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_PUT_AND_GET(suffix, count_type)                                                                      \
  TRIREME_EXPORTED int MPI_Put##suffix(const void* origin, count_type origin_count, MPI_Datatype origin_type,        \
                                       int target, MPI_Aint displacement, count_type count, MPI_Datatype type,       \
                                       MPI_Win handle) {                                                             \
    return put({origin, origin_count, origin_type}, {target, displacement, count, type}, handle, [&] {               \
      return PMPI_Put##suffix(origin, origin_count, origin_type, target, displacement, count, type, handle);         \
    });                                                                                                              \
  }                                                                                                                  \
  TRIREME_EXPORTED int MPI_Get##suffix(void* origin, count_type origin_count, MPI_Datatype origin_type, int target,  \
                                       MPI_Aint displacement, count_type count, MPI_Datatype type, MPI_Win handle) { \
    return get({origin, origin_count, origin_type}, {target, displacement, count, type}, handle, [&] {               \
      return PMPI_Get##suffix(origin, origin_count, origin_type, target, displacement, count, type, handle);         \
    });                                                                                                              \
  }                                                                                                                  \
  TRIREME_EXPORTED int MPI_Rput##suffix(const void* origin, count_type origin_count, MPI_Datatype origin_type,       \
                                        int target, MPI_Aint displacement, count_type count, MPI_Datatype type,      \
                                        MPI_Win handle, MPI_Request* request) {                                      \
    return with_request({origin, origin_count, origin_type}, {target, displacement, count, type}, handle, true,      \
                        request, [&] {                                                                               \
                          return PMPI_Rput##suffix(origin, origin_count, origin_type, target, displacement, count,   \
                                                   type, handle, request);                                           \
                        });                                                                                          \
  }                                                                                                                  \
  TRIREME_EXPORTED int MPI_Rget##suffix(void* origin, count_type origin_count, MPI_Datatype origin_type, int target, \
                                        MPI_Aint displacement, count_type count, MPI_Datatype type, MPI_Win handle,  \
                                        MPI_Request* request) {                                                      \
    return with_request({origin, origin_count, origin_type}, {target, displacement, count, type}, handle, false,     \
                        request, [&] {                                                                               \
                          return PMPI_Rget##suffix(origin, origin_count, origin_type, target, displacement, count,   \
                                                   type, handle, request);                                           \
                        });                                                                                          \
  }
TRIREME_PUT_AND_GET(, int)
#if MPI_VERSION >= 4
TRIREME_PUT_AND_GET(_c, MPI_Count)
#endif
#undef TRIREME_PUT_AND_GET
