#include "mpi/rma/window_access.hpp"

namespace tri::mpi {

int describe(const void* address, MPI_Count count, MPI_Datatype type, typed_memory& described) {
  if (count < 0) return MPI_ERR_COUNT;
  described = {const_cast<void*>(address), static_cast<std::uint64_t>(count), &datatypes::find(type)};
  if (!described.type->is_valid) return MPI_ERR_TYPE;
  // More than there is memory for. Large counts (MPI 4.0) could make sizes go round.
  constexpr MPI_Count most_bytes = MPI_Count{1} << 62;
  const auto bytes = static_cast<MPI_Count>(described.type->bytes);
  return bytes > 0 && count > most_bytes / bytes ? MPI_ERR_COUNT : MPI_SUCCESS;
}

window_access::window_access(window& on, int rank, MPI_Aint displacement, MPI_Count count, MPI_Datatype type) {
  if (rank == MPI_PROC_NULL) return;
  if (!on.has(rank)) {
    error_ = MPI_ERR_RANK;
    return;
  }
  const auto target = static_cast<std::uint32_t>(rank);
  error_ = describe(nullptr, count, type, memory_);
  if (error_ == MPI_SUCCESS && !on.epochs.may_access(target)) error_ = MPI_ERR_RMA_SYNC;
  if (error_ != MPI_SUCCESS) return;
  const touched_bytes touched = bytes_touched(memory_.count, *memory_.type);
  if (on.flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    find_attached(on.ranks.part(target), displacement, touched);
    return;
  }
  const window_memory& of = on.memory[target];
  std::int64_t at = 0, first = 0, end = 0;
  const bool fits = !__builtin_mul_overflow(std::int64_t{displacement}, of.unit, &at) &&
                    !__builtin_add_overflow(at, touched.first, &first) &&
                    !__builtin_add_overflow(at, touched.end, &end) && first >= 0 && end <= of.bytes;
  if (!fits && touched.end > touched.first) {
    error_ = displacement < 0 && touched.first >= 0 ? MPI_ERR_DISP : MPI_ERR_RMA_RANGE;
    return;
  }
  memory_.address = of.base + at;
  part_ = &on.ranks.part(target);
}

// A displacement is an address of the target.
void window_access::find_attached(window_part& part, MPI_Aint displacement, const touched_bytes& touched) {
  memory_.address = reinterpret_cast<void*>(displacement);
  part_ = &part;
  if (touched.end <= touched.first) return;
  const std::uintptr_t first = static_cast<std::uintptr_t>(displacement + touched.first);
  const auto region = part.attached.find(first, static_cast<std::size_t>(touched.end - touched.first));
  if (!region) {
    error_ = MPI_ERR_RMA_RANGE;
    return;
  }
  is_reached_ = region->shared != nullptr;
  if (is_reached_) memory_.address = region->shared + (first - region->address) - touched.first;
}

}  // namespace tri::mpi
