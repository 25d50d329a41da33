// The accumulate family on intercepted windows: done by the calling rank, when the call returns.
#include <mpi.h>

#include <mutex>
#include <vector>

#include "mpi/abi/exported.hpp"
#include "mpi/p2p/requests.hpp"
#include "mpi/rma/accumulation.hpp"
#include "mpi/rma/remote_elements.hpp"
#include "mpi/rma/window_access.hpp"
#include "mpi/rma/windows.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

// Elements of this rank; counts of either form of the call.
struct own_elements {
  const void* address = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};
struct target_elements {
  int rank;
  MPI_Aint displacement;
  MPI_Count count;
  MPI_Datatype type;
};

// Packed elements, in place if they are already packed.
class packed_elements {
 public:
  explicit packed_elements(const typed_memory& of) : memory_(of) {
    if (of.type == nullptr || of.type->is_plain) return;
    packed_.resize(of.bytes());
  }
  const std::byte* read() {
    if (!packed_.empty()) pack(memory_, packed_.data());
    return address();
  }
  std::byte* address() { return packed_.empty() ? memory_.start() : packed_.data(); }
  void write() {
    if (!packed_.empty()) unpack(packed_.data(), memory_);
  }

 private:
  typed_memory memory_;
  std::vector<std::byte> packed_;
};

accumulate_order order_of(const window& on, const window_access& there) {
  return {on.ranks.parts(), on.ranks.own(), there.part()};
}

// Elements that are not mapped here: a copy of them, changed under the target's lock by `change(copy)`, which gets them
// as own elements of the predefined type. Such elements are accessed in no other way, not even by their owner.
template <class Change>
int change_remotely(const window_access& there, const element_type& element, Change&& change) {
  const typed_memory& memory = there.memory();
  const pid_t process = there.part().rank->process;
  std::vector<std::byte> packed(memory.bytes()), elements(memory.bytes() / element.bytes * element.extent);
  const typed_memory copy{elements.data(), memory.bytes() / element.bytes, &datatypes::find(element.handle)};
  const std::lock_guard guard(there.part().accumulating);
  if (!read_remote(memory, process, packed.data())) return MPI_ERR_OTHER;
  unpack(packed.data(), copy);
  change(copy);
  pack(copy, packed.data());
  return write_remote(packed.data(), memory, process) ? MPI_SUCCESS : MPI_ERR_OTHER;
}

// `result` without a type: the old values are not wanted.
int accumulate(session& in, window& on, const own_elements& origin, const own_elements* result,
               const target_elements& target, MPI_Op handle) {
  const std::optional<reduction> operation = reduction_of(handle);
  if (!operation || (*operation == reduction::nothing && result == nullptr)) return MPI_ERR_OP;
  window_access there(on, target.rank, target.displacement, target.count, target.type);
  if (there.is_over()) return there.error();
  const typed_memory& memory = there.memory();
  if (memory.bytes() == 0) return MPI_SUCCESS;
  const element_type& element = accumulated_as(target.type);
  if (element.handle == MPI_DATATYPE_NULL || (!memory.type->is_plain && memory.type->shape == nullptr))
    return MPI_ERR_TYPE;
  if (!is_defined(*operation, element.kind, element.is_pair)) return MPI_ERR_OP;
  typed_memory operands, found;
  if (*operation != reduction::nothing) {
    if (const int error = describe(origin.address, origin.count, origin.type, operands)) return error;
    if (operands.bytes() != memory.bytes()) return MPI_ERR_TRUNCATE;
  }
  if (result != nullptr) {
    if (const int error = describe(result->address, result->count, result->type, found)) return error;
    if (found.bytes() != memory.bytes()) return MPI_ERR_TRUNCATE;
  }
  packed_elements values(operands), before(found);
  const std::byte* const read = values.read();
  std::byte* const was = result != nullptr ? before.address() : nullptr;
  if (there.is_reached()) {
    accumulate(in.ranks(), memory, element, *operation, handle, read, was, order_of(on, there));
  } else {
    if (const int error = change_remotely(there, element, [&](const typed_memory& copy) {
          accumulate(in.ranks(), copy, element, *operation, handle, read, was, {});
        }))
      return error;
  }
  if (result == nullptr) return MPI_SUCCESS;
  on.reads.read(memory.address, before.address(), memory.bytes());
  before.write();
  return MPI_SUCCESS;
}

int swap(window& on, const void* desired, const void* expected, void* before, MPI_Datatype type, int rank,
         MPI_Aint displacement) {
  window_access there(on, rank, displacement, 1, type);
  if (there.is_over()) return there.error();
  const element_type& element = element_type_of(type);
  if (element.handle != type || element.is_pair || element.bytes != there.memory().bytes()) return MPI_ERR_TYPE;
  if (there.is_reached()) {
    compare_and_swap(there.memory().address, element, expected, desired, before, order_of(on, there));
  } else {
    if (const int error = change_remotely(there, element, [&](const typed_memory& copy) {
          compare_and_swap(copy.address, element, expected, desired, before, {});
        }))
      return error;
  }
  on.reads.read(there.memory().address, before, element.bytes);
  return MPI_SUCCESS;
}

// With a request, complete at once. Only in passive epochs.
int with_request(session& in, window& on, const own_elements& origin, const own_elements* result,
                 const target_elements& target, MPI_Op operation, MPI_Request* request) {
  if (on.has(target.rank) && !on.epochs.is_passive(static_cast<std::uint32_t>(target.rank))) return MPI_ERR_RMA_SYNC;
  if (const int error = accumulate(in, on, origin, result, target, operation)) return error;
  *request = requests::done_send();
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_ACCUMULATE(suffix, count_type)                                                                         \
  TRIREME_EXPORTED int MPI_Accumulate##suffix(const void* origin, count_type origin_count, MPI_Datatype origin_type,   \
                                              int target, MPI_Aint displacement, count_type count, MPI_Datatype type,  \
                                              MPI_Op operation, MPI_Win handle) {                                      \
    return on_window(                                                                                                  \
        handle,                                                                                                        \
        [&](session& in, window& on) {                                                                                 \
          return accumulate(in, on, {origin, origin_count, origin_type}, nullptr, {target, displacement, count, type}, \
                            operation);                                                                                \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Accumulate##suffix(origin, origin_count, origin_type, target, displacement, count, type,         \
                                         operation, handle);                                                           \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Raccumulate##suffix(const void* origin, count_type origin_count, MPI_Datatype origin_type,  \
                                               int target, MPI_Aint displacement, count_type count, MPI_Datatype type, \
                                               MPI_Op operation, MPI_Win handle, MPI_Request* request) {               \
    return on_window(                                                                                                  \
        handle,                                                                                                        \
        [&](session& in, window& on) {                                                                                 \
          return with_request(in, on, {origin, origin_count, origin_type}, nullptr,                                    \
                              {target, displacement, count, type}, operation, request);                                \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Raccumulate##suffix(origin, origin_count, origin_type, target, displacement, count, type,        \
                                          operation, handle, request);                                                 \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Get_accumulate##suffix(                                                                     \
      const void* origin, count_type origin_count, MPI_Datatype origin_type, void* result, count_type result_count,    \
      MPI_Datatype result_type, int target, MPI_Aint displacement, count_type count, MPI_Datatype type,                \
      MPI_Op operation, MPI_Win handle) {                                                                              \
    return on_window(                                                                                                  \
        handle,                                                                                                        \
        [&](session& in, window& on) {                                                                                 \
          const own_elements found{result, result_count, result_type};                                                 \
          return accumulate(in, on, {origin, origin_count, origin_type}, &found, {target, displacement, count, type},  \
                            operation);                                                                                \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Get_accumulate##suffix(origin, origin_count, origin_type, result, result_count, result_type,     \
                                             target, displacement, count, type, operation, handle);                    \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Rget_accumulate##suffix(                                                                    \
      const void* origin, count_type origin_count, MPI_Datatype origin_type, void* result, count_type result_count,    \
      MPI_Datatype result_type, int target, MPI_Aint displacement, count_type count, MPI_Datatype type,                \
      MPI_Op operation, MPI_Win handle, MPI_Request* request) {                                                        \
    return on_window(                                                                                                  \
        handle,                                                                                                        \
        [&](session& in, window& on) {                                                                                 \
          const own_elements found{result, result_count, result_type};                                                 \
          return with_request(in, on, {origin, origin_count, origin_type}, &found,                                     \
                              {target, displacement, count, type}, operation, request);                                \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Rget_accumulate##suffix(origin, origin_count, origin_type, result, result_count, result_type,    \
                                              target, displacement, count, type, operation, handle, request);          \
        });                                                                                                            \
  }
TRIREME_ACCUMULATE(, int)
#if MPI_VERSION >= 4
TRIREME_ACCUMULATE(_c, MPI_Count)
#endif
#undef TRIREME_ACCUMULATE

TRIREME_EXPORTED int MPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target,
                                      MPI_Aint displacement, MPI_Op operation, MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        const own_elements found{result, 1, type};
        return accumulate(in, on, {origin, 1, type}, &found, {target, displacement, 1, type}, operation);
      },
      [&] { return PMPI_Fetch_and_op(origin, result, type, target, displacement, operation, handle); });
}

TRIREME_EXPORTED int MPI_Compare_and_swap(const void* desired, const void* expected, void* result, MPI_Datatype type,
                                          int target, MPI_Aint displacement, MPI_Win handle) {
  return on_window(
      handle, [&](session&, window& on) { return swap(on, desired, expected, result, type, target, displacement); },
      [&] { return PMPI_Compare_and_swap(desired, expected, result, type, target, displacement, handle); });
}
