#include "mpi/coll/reproducible_sums.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "coll/exact_sum.hpp"
#include "mpi/coll/hosts/collectives_across_hosts.hpp"
#include "mpi/coll/planned_collective.hpp"
#include "mpi/coll/shm_steps.hpp"
#include "mpi/rma/accumulated_elements.hpp"

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

bool gets_result(const communicator& comm, coll::collective what, int root) {
  if (what == coll::collective::reduce) return comm.rank == root;
  return what != coll::collective::exscan || comm.rank > 0;
}

// The plan of one block: the sums of this rank are its contribution, and then its result.
across_hosts::plan plan_of_block(const communicator& comm, coll::collective what, const elements& sums,
                                 MPI_Op operation, int root) {
  const void* const from = what == coll::collective::reduce && comm.rank != root ? sums.address : MPI_IN_PLACE;
  const bool is_exclusive = what == coll::collective::exscan;
  const bool is_scan = is_exclusive || what == coll::collective::scan;
  if (!comm.spans_hosts())
    return is_scan ? scan_in_parts(from, sums, operation, is_exclusive)
                   : sum_in_parts(what, from, sums, operation, root);
  if (is_scan) return across_hosts::scan(comm, from, sums, operation, is_exclusive);
  return what == coll::collective::reduce ? across_hosts::reduce(comm, from, sums, operation, root)
                                          : across_hosts::allreduce(comm, from, sums, operation);
}

// Each block is a plan of its own.
template <class Float>
class reproducible_operation final : public nonblocking_operation, private plan_sequence {
 public:
  reproducible_operation(session& in, communicator& comm, std::vector<operation_identity> identities,
                         coll::collective what, const void* from, const elements& to, int root)
      : plan_sequence(in, comm, std::move(identities)),
        what_(what),
        contributions_(static_cast<const Float*>(own_part(from, to.address))),
        results_(static_cast<Float*>(to.address)),
        count_(to.count),
        root_(root) {
    advance();
  }
  ~reproducible_operation() override {
    in().ranks().wait([this] { return advance(); }, asks_library());
  }
  bool is_done(session&) override { return advance(); }
  int finish(session&) override { return error(); }
  bool asks_library() const override { return comm().spans_hosts(); }

 private:
  static std::size_t first_of(std::size_t block) { return block * static_cast<std::size_t>(most_elements_of_block); }
  std::optional<planned_request> plan_of(std::size_t block) override {
    const std::size_t first = first_of(block);
    const std::size_t left = static_cast<std::size_t>(count_) - first;
    sums_.assign(std::min(static_cast<std::size_t>(most_elements_of_block), left), coll::exact_sum<Float>());
    coll::begin_sums(std::span(contributions_ + first, sums_.size()), sums_.data());
    const elements sums{sums_.data(), static_cast<MPI_Count>(sums_.size()), handles_of<Float>().type};
    return plan_of_block(comm(), what_, sums, handles_of<Float>().operation, root_);
  }
  void plan_ended(std::size_t block) override {
    if (gets_result(comm(), what_, root_))
      coll::round_sums(std::span<const coll::exact_sum<Float>>(sums_), results_ + first_of(block));
  }

  const coll::collective what_;
  const Float* contributions_;
  Float* results_;
  const MPI_Count count_;
  const int root_;
  std::vector<coll::exact_sum<Float>> sums_;  // of this block
};

// All are counted when the operation begins, in the order of all members. A persistent one has its table for itself.
std::vector<operation_identity> identities_of_blocks(communicator& comm, operation_identity first, std::size_t blocks) {
  std::vector<operation_identity> made(blocks, first);
  for (std::size_t i = 0; i < blocks; ++i) {
    if (first.table != nullptr)
      made[i].number = first.number * blocks + i;
    else if (i > 0)
      made[i] = operation_identity::next_of(comm);
  }
  return made;
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

int reproducible_sum(session& in, communicator& comm, const completion& how, coll::collective what, const void* from,
                     const elements& to, int root) {
  const bool is_scan = what == coll::collective::scan || what == coll::collective::exscan;
  if (comm.spans_hosts() && is_scan && !comm.hosts->are_in_order) return pass_through;
  const auto blocks = static_cast<std::size_t>(
      std::max<MPI_Count>((to.count + most_elements_of_block - 1) / most_elements_of_block, 1));
  const auto make = [&](const operation_identity& first) -> std::unique_ptr<nonblocking_operation> {
    std::vector<operation_identity> identities = identities_of_blocks(comm, first, blocks);
    if (element_type_of(to.type).kind == element_kind::float32)
      return std::make_unique<reproducible_operation<float>>(in, comm, std::move(identities), what, from, to, root);
    return std::make_unique<reproducible_operation<double>>(in, comm, std::move(identities), what, from, to, root);
  };
  if (!how.is_blocking()) return how.begin(in, comm, make);
  const std::unique_ptr<nonblocking_operation> all = make(operation_identity::next_of(comm));
  in.ranks().wait([&] { return all->is_done(in); }, all->asks_library());
  return all->finish(in);
}

}  // namespace tri::mpi::collectives
