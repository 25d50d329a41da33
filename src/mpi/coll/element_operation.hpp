// An operation on elements of one type, in memory of this process: by loops of ours where they give the same bits as
// the MPI library, else by the library. Predefined ones are looked up once. With the call guard.
#pragma once

#include <mpi.h>

#include "mpi/rma/engine/element_reduction.hpp"

namespace tri::mpi::collectives {

/// Also of operations of the program.
bool is_commutative(MPI_Op operation);

class element_operation {
 public:
  /// The one that was used last is cached. Types and operations of the program may be freed and their handles given
  /// again: those are the library's in any case.
  static const element_operation& of(MPI_Datatype type, MPI_Op operation) {
    if (last_.type_ != type || last_.operation_ != operation) [[unlikely]]
      last_ = element_operation(type, operation);
    return last_;
  }
  /// It calls neither the library nor the program.
  bool is_ours() const { return has_loop_; }
  /// Predefined; of operations of the program the order of operands is kept in any case.
  bool is_commutative() const { return is_commutative_; }
  /// `sum` becomes `left` op `sum`, element by element.
  void operator()(const void* left, void* sum, MPI_Count count) const;

 private:
  element_operation() = default;
  element_operation(MPI_Datatype type, MPI_Op operation);

  static element_operation last_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op operation_ = MPI_OP_NULL;
  bool is_commutative_ = false;
  bool has_loop_ = false;
  reduction what_ = reduction::nothing;
  element_kind kind_ = element_kind::mixed;
};

}  // namespace tri::mpi::collectives
