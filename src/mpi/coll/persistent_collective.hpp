// Persistent collective operations: each start begins the nonblocking operation anew, with the identity that the
// request got when it was made. So the members may start their requests in any order. Making one is collective: the
// members of a host agree on a table of their own, in which the plans of its starts meet.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "mpi/abi/counted_calls.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/completion.hpp"
#include "mpi/p2p/nonblocking_operation.hpp"

namespace tri::mpi::collectives {

/// Types that the program may free while a request still needs them. Lists of counts and places are the program's until
/// the request is freed (MPI 4.0, section 6.13), but their types are copied here.
class kept_types {
 public:
  /// The type itself where it cannot be freed, is not valid or does not matter (`matters`).
  MPI_Datatype operator()(MPI_Datatype type, bool matters = true);
  const MPI_Datatype* operator()(const MPI_Datatype* types, int count, bool matters = true);

 private:
  std::vector<std::shared_ptr<void>> kept_;
};

class persistent_collective final : public persistent_operation {
 public:
  /// Begins the operation, or checks its arguments.
  using call = std::function<int(session&, communicator&, const completion&)>;
  /// Collective. `pass_through` on all members where there is no memory; other values as `call` returns them.
  static int make(session& in, communicator& comm, kept_types kept, call begins, MPI_Request* request);
  ~persistent_collective() override;
  int start(session& in, std::unique_ptr<nonblocking_operation>& begun) override;

 private:
  struct shared_part;
  persistent_collective(session& in, communicator& comm, kept_types kept, call begins, shared_part& shared, int number);
  static shared_part* agree(session& in, communicator& comm);

  session& in_;
  communicator& comm_;
  kept_types kept_;
  call begins_;
  shared_part& shared_;
  operation_identity identity_;
};

/// A call that makes one. `describe(known, kept)` returns what each start does.
template <class Describe, class Library>
int persistent(MPI_Comm comm, MPI_Request* request, Describe&& describe, Library&& library, MPI_Count count,
               MPI_Datatype type, const char* name = __builtin_FUNCTION()) {
  return collective(
      comm, true,
      [&](session& in, communicator& known) {
        if (known.is_inter()) return pass_through;
        kept_types kept;
        persistent_collective::call begins = describe(known, kept);
        return persistent_collective::make(in, known, std::move(kept), std::move(begins), request);
      },
      library, count, type, name);
}

}  // namespace tri::mpi::collectives
