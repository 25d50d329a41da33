#include "mpi/coll/element_operation.hpp"

#include "mpi/rma/accumulated_elements.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::collectives {

bool is_commutative(MPI_Op operation) {
  if (reduction_of(operation)) return true;
  int commutative = 0;
  PMPI_Op_commutative(operation, &commutative);
  return commutative != 0;
}

element_operation element_operation::last_;

// Smallest and largest of floating point numbers are left to the library, which has its own way with NaN.
element_operation::element_operation(MPI_Datatype type, MPI_Op operation) : type_(type), operation_(operation) {
  const std::optional<reduction> known = reduction_of(operation);
  is_commutative_ = known && *known != reduction::replace && *known != reduction::nothing;
  if (!is_commutative_) return;
  const element_type& element = element_type_of(type);
  if (element.handle != type || element.is_pair) return;
  const bool is_real = !element.is_single_instruction();
  what_ = *known;
  kind_ = element.kind;
  has_loop_ = has_plain_loop(what_, kind_) && (!is_real || what_ == reduction::sum || what_ == reduction::product);
}

void element_operation::operator()(const void* left, void* sum, MPI_Count count) const {
  if (has_loop_) {
    reduce_plainly(what_, kind_, static_cast<std::byte*>(sum), static_cast<const std::byte*>(left), nullptr,
                   static_cast<std::size_t>(count));
    return;
  }
  const program_function running;
#if MPI_VERSION >= 4
  PMPI_Reduce_local_c(left, sum, count, type_, operation_);
#else
  PMPI_Reduce_local(left, sum, static_cast<int>(count), type_, operation_);
#endif
}

}  // namespace tri::mpi::collectives
