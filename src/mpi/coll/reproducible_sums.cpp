#include "mpi/coll/reproducible_sums.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/exact_sum.hpp"
#include "mpi/coll/shm_steps.hpp"
#include "mpi/rma/accumulated_elements.hpp"
#include "mpi/startup/user_settings.hpp"

namespace tri::mpi::collectives {
namespace {

// The two handles under which the reductions know exact sums, made when the first one is asked for and kept: MPI frees
// what is left in MPI_Finalize.
struct sum_handles {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
};

template <class Float>
void merge(void* source, void* target, int* count, MPI_Datatype*) {
  coll::merge_sums(static_cast<const coll::exact_sum<Float>*>(source), static_cast<coll::exact_sum<Float>*>(target),
                   static_cast<std::size_t>(*count));
}

template <class Float>
const sum_handles& handles_of() {
  static const sum_handles made = [] {
    sum_handles handles;
    PMPI_Type_contiguous(static_cast<int>(sizeof(coll::exact_sum<Float>) / sizeof(std::uint64_t)), MPI_UINT64_T,
                         &handles.type);
    PMPI_Type_commit(&handles.type);
    PMPI_Op_create(&merge<Float>, 1, &handles.operation);
    return handles;
  }();
  return made;
}

constexpr MPI_Count most_elements_of_block = 4096;  // of doubles: 1.1 MB

// `reduce_block(sums)` reduces them in place where this rank gets the result.
template <class Float, class ReduceBlock>
int reduce_in_blocks(const void* from, const elements& to, bool gets_sum, ReduceBlock&& reduce_block) {
  using sum = coll::exact_sum<Float>;
  const auto* const contributions = static_cast<const Float*>(own_part(from, to.address));
  auto* const results = static_cast<Float*>(to.address);
  std::vector<sum> sums;
  // Also of no elements once: the ranks meet.
  for (MPI_Count begin = 0; begin == 0 || begin < to.count; begin += most_elements_of_block) {
    const auto first = static_cast<std::size_t>(begin);
    sums.assign(static_cast<std::size_t>(std::min(most_elements_of_block, to.count - begin)), sum());
    coll::begin_sums(std::span(contributions + first, sums.size()), sums.data());
    if (const int error =
            reduce_block(elements{sums.data(), static_cast<MPI_Count>(sums.size()), handles_of<Float>().type},
                         handles_of<Float>().operation);
        error != MPI_SUCCESS)
      return error;
    if (gets_sum) coll::round_sums(std::span<const sum>(sums), results + first);
  }
  return MPI_SUCCESS;
}

template <class ReduceBlock>
int reduce_sums(const void* from, const elements& to, bool gets_sum, ReduceBlock&& reduce_block) {
  return element_type_of(to.type).kind == element_kind::float32
             ? reduce_in_blocks<float>(from, to, gets_sum, reduce_block)
             : reduce_in_blocks<double>(from, to, gets_sum, reduce_block);
}

}  // namespace

bool is_reproducible_sum(MPI_Datatype type, MPI_Op operation) {
  if (operation != MPI_SUM || !session::active()->sums_are_reproducible()) return false;
  const element_type& element = element_type_of(type);
  return element.handle == type && !element.is_pair &&
         (element.kind == element_kind::float32 || element.kind == element_kind::float64);
}

int reproducible_reduce(session& in, communicator& comm, const void* from, const elements& to, int root) {
  const bool is_root = comm.rank == root;
  return reduce_sums(from, to, is_root, [&](const elements& sums, MPI_Op operation) {
    // Trees between hosts are for few bytes.
    if (comm.spans_hosts()) return allreduce(in, comm, MPI_IN_PLACE, sums, operation);
    return reduce(in, comm, is_root ? MPI_IN_PLACE : sums.address, sums, operation, root);
  });
}

int reproducible_allreduce(session& in, communicator& comm, const void* from, const elements& to) {
  return reduce_sums(from, to, true, [&](const elements& sums, MPI_Op operation) {
    return allreduce(in, comm, MPI_IN_PLACE, sums, operation);
  });
}

}  // namespace tri::mpi::collectives
