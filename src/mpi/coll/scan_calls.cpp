// MPI's scans and scattered reductions, blocking and nonblocking, of plain elements. Others go to the MPI library, and
// so do nonblocking ones of types and operations that are not predefined (they may be freed meanwhile).
#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/reduction_arguments.hpp"

namespace tri::mpi {
namespace {

// Whether all ranks find that it is ours.
bool is_ours(MPI_Datatype type, MPI_Op operation, bool is_nonblocking) {
  if (!has_plain_elements(datatypes::find(type))) return false;
  if (order_of(type, operation) == reduction_order::unknown) return false;
  return !is_nonblocking || reduction_of(operation).has_value();
}

int scan(session& in, communicator& known, const void* from, const collectives::elements& to, MPI_Op operation,
         bool is_exclusive, MPI_Request* request) {
  if (!is_valid(to.count, to.type)) return leave_to_library(known);
  if (!is_ours(to.type, operation, request != nullptr)) return pass_through;
  if (lacks_part(from, !is_exclusive || known.rank > 0, to.address, to.count, to.type)) return leave_to_library(known);
  if (known.spans_hosts())
    return across_hosts::run(in, known, request, across_hosts::scan(known, from, to, operation, is_exclusive));
  if (request == nullptr) return collectives::scan(in, known, from, to, operation, is_exclusive);
  return add_request(in, known, request, collectives::begin_scan(in, known, from, to, operation, is_exclusive));
}

int reduce_scatter(session& in, communicator& known, const void* from, void* to,
                   const std::vector<std::uint64_t>& counts, MPI_Datatype type, MPI_Op operation,
                   MPI_Request* request) {
  const auto mine = static_cast<MPI_Count>(counts[static_cast<std::size_t>(known.rank)]);
  if (!is_valid(mine, type)) return leave_to_library(known);
  if (!is_ours(type, operation, request != nullptr)) return pass_through;
  const auto all = static_cast<MPI_Count>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  if (lacks_buffer(from == MPI_IN_PLACE ? to : from, all, type) || lacks_buffer(to, mine, type))
    return leave_to_library(known);
  if (known.spans_hosts())
    return across_hosts::run(in, known, request,
                             across_hosts::reduce_scatter(known, from, to, counts, type, operation));
  if (request == nullptr) return collectives::reduce_scatter(in, known, from, to, counts, type, operation);
  return add_request(in, known, request,
                     collectives::begin_reduce_scatter(in, known, from, to, counts, type, operation));
}

// Empty: one is less than 0, which the library reports.
std::vector<std::uint64_t> counts_of(const communicator& known, const int* counts) {
  if (counts == nullptr || std::any_of(counts, counts + known.size(), [](int count) { return count < 0; })) return {};
  return {counts, counts + known.size()};
}

int scan_call(const char* name, const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation,
              MPI_Comm comm, bool is_exclusive, MPI_Request* request, auto&& library) {
  return collective(
      comm, request == nullptr,
      [&](session& in, communicator& known) {
        return scan(in, known, from, {to, count, type}, operation, is_exclusive, request);
      },
      library, count, type, name);
}

int block_call(const char* name, const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation,
               MPI_Comm comm, MPI_Request* request, auto&& library) {
  return collective(
      comm, request == nullptr,
      [&](session& in, communicator& known) {
        if (count < 0) return leave_to_library(known);
        const std::vector<std::uint64_t> counts(static_cast<std::size_t>(known.size()),
                                                static_cast<std::uint64_t>(count));
        return reduce_scatter(in, known, from, to, counts, type, operation, request);
      },
      library, count, type, name);
}

int blocks_call(const char* name, const void* from, void* to, const int* counts, MPI_Datatype type, MPI_Op operation,
                MPI_Comm comm, MPI_Request* request, auto&& library) {
  return collective(
      comm, request == nullptr,
      [&](session& in, communicator& known) {
        const std::vector<std::uint64_t> all = counts_of(known, counts);
        return all.empty() ? leave_to_library(known)
                           : reduce_scatter(in, known, from, to, all, type, operation, request);
      },
      library, -1, type, name);
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Scan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return scan_call(__func__, from, to, count, type, op, comm, false, nullptr,
                   [&] { return PMPI_Scan(from, to, count, type, op, comm); });
}
TRIREME_EXPORTED int MPI_Exscan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return scan_call(__func__, from, to, count, type, op, comm, true, nullptr,
                   [&] { return PMPI_Exscan(from, to, count, type, op, comm); });
}
TRIREME_EXPORTED int MPI_Iscan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                               MPI_Request* request) {
  return scan_call(__func__, from, to, count, type, op, comm, false, request,
                   [&] { return PMPI_Iscan(from, to, count, type, op, comm, request); });
}
TRIREME_EXPORTED int MPI_Iexscan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                 MPI_Request* request) {
  return scan_call(__func__, from, to, count, type, op, comm, true, request,
                   [&] { return PMPI_Iexscan(from, to, count, type, op, comm, request); });
}
TRIREME_EXPORTED int MPI_Reduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                                              MPI_Comm comm) {
  return block_call(__func__, from, to, count, type, op, comm, nullptr,
                    [&] { return PMPI_Reduce_scatter_block(from, to, count, type, op, comm); });
}
TRIREME_EXPORTED int MPI_Ireduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                                               MPI_Comm comm, MPI_Request* request) {
  return block_call(__func__, from, to, count, type, op, comm, request,
                    [&] { return PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request); });
}
TRIREME_EXPORTED int MPI_Reduce_scatter(const void* from, void* to, const int counts[], MPI_Datatype type, MPI_Op op,
                                        MPI_Comm comm) {
  return blocks_call(__func__, from, to, counts, type, op, comm, nullptr,
                     [&] { return PMPI_Reduce_scatter(from, to, counts, type, op, comm); });
}
TRIREME_EXPORTED int MPI_Ireduce_scatter(const void* from, void* to, const int counts[], MPI_Datatype type, MPI_Op op,
                                         MPI_Comm comm, MPI_Request* request) {
  return blocks_call(__func__, from, to, counts, type, op, comm, request,
                     [&] { return PMPI_Ireduce_scatter(from, to, counts, type, op, comm, request); });
}
