// MPI's calls on requests. A list may hold requests of ours and of the MPI library in any mixture; a list without one
// of ours is the library's.
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "mpi/calls/abi.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/requests.hpp"
#include "mpi/calls/session.hpp"

namespace tri::mpi {
namespace {

bool is_ours(MPI_Request handle) { return handle != MPI_REQUEST_NULL && abi::is_own(handle); }

bool has_ours(int count, const MPI_Request* list) {
  return list != nullptr && count > 0 && std::any_of(list, list + count, is_ours);
}

bool is_inactive(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return true;
  if (!abi::is_own(handle)) return false;  // the library knows
  const request& each = requests::of(handle);
  return each.is_persistent && !each.is_active;
}

// Of the library's requests, by asking it; it makes progress meanwhile.
bool is_done(session& in, MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return true;
  if (abi::is_own(handle)) {
    const request& each = requests::of(handle);
    return (each.is_persistent && !each.is_active) || each.under_way.is_done(in);
  }
  int flag = 0;
  PMPI_Request_get_status(handle, &flag, MPI_STATUS_IGNORE);
  return flag != 0;
}

// Ends a request that is done. Returns the class of its error; handlers are the caller's business.
int end(session& in, MPI_Request& handle, MPI_Status* status, MPI_Comm& comm) {
  comm = MPI_COMM_WORLD;
  if (handle == MPI_REQUEST_NULL) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  if (!abi::is_own(handle)) return PMPI_Wait(&handle, status);
  request& each = requests::of(handle);
  if (each.is_persistent && !each.is_active) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  // Without one: the send that was complete.
  if (each.comm != nullptr && !each.comm->is_freed) comm = each.comm->handle;
  const int error = each.under_way.result(each.arguments, status);
  each.under_way.finish(in, each.arguments);
  requests::end(handle);
  return error;
}

int end_and_report(session& in, MPI_Request& handle, MPI_Status* status) {
  const bool own = is_ours(handle);
  MPI_Comm comm = MPI_COMM_WORLD;
  const int error = end(in, handle, status, comm);
  return own ? report(comm, error) : error;
}

MPI_Status* status_of(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// Ends those at the places; the statuses stand in a row.
int end_several(session& in, const std::vector<int>& places, MPI_Request* list, MPI_Status* statuses, bool at_place) {
  std::vector<int> errors(places.size(), MPI_SUCCESS);
  MPI_Comm failed = MPI_COMM_NULL;
  for (std::size_t i = 0; i < places.size(); ++i) {
    MPI_Comm comm = MPI_COMM_WORLD;
    const bool own = is_ours(list[places[i]]);
    errors[i] = end(in, list[places[i]], status_of(statuses, at_place ? places[i] : static_cast<int>(i)), comm);
    if (errors[i] != MPI_SUCCESS && (own || failed == MPI_COMM_NULL)) failed = comm;
  }
  if (failed == MPI_COMM_NULL) return MPI_SUCCESS;
  if (statuses != MPI_STATUSES_IGNORE)
    for (std::size_t i = 0; i < places.size(); ++i)
      statuses[at_place ? places[i] : static_cast<int>(i)].MPI_ERROR = errors[i];
  return report(failed, MPI_ERR_IN_STATUS);
}

std::vector<int> all_places(int count) {
  std::vector<int> places(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) places[static_cast<std::size_t>(i)] = i;
  return places;
}

int first_done(session& in, int count, const MPI_Request* list) {
  for (int i = 0; i < count; ++i)
    if (!is_inactive(list[i]) && is_done(in, list[i])) return i;
  return -1;
}

bool has_library_requests(int count, const MPI_Request* list) {
  return std::any_of(list, list + count,
                     [](MPI_Request each) { return each != MPI_REQUEST_NULL && !abi::is_own(each); });
}

bool all_inactive(int count, const MPI_Request* list) { return std::all_of(list, list + count, is_inactive); }

std::vector<int> all_done(session& in, int count, const MPI_Request* list) {
  std::vector<int> places;
  for (int i = 0; i < count; ++i)
    if (!is_inactive(list[i]) && is_done(in, list[i])) places.push_back(i);
  return places;
}

void start(session& in, MPI_Request handle) {
  request& each = requests::of(handle);
  each.under_way.begin(in, each.arguments, *each.comm);
  each.is_active = true;
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Wait(MPI_Request* handle, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !is_ours(*handle)) return PMPI_Wait(handle, status);
  const call_guard guard(*in);
  in->ranks().wait([&] { return is_done(*in, *handle); });
  return end_and_report(*in, *handle, status);
}

TRIREME_EXPORTED int MPI_Test(MPI_Request* handle, int* flag, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !is_ours(*handle)) return PMPI_Test(handle, flag, status);
  const call_guard guard(*in);
  in->ranks().progress();
  *flag = is_done(*in, *handle) ? 1 : 0;
  return *flag != 0 ? end_and_report(*in, *handle, status) : MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !is_ours(handle)) return PMPI_Request_get_status(handle, flag, status);
  const call_guard guard(*in);
  in->ranks().progress();
  *flag = is_done(*in, handle) ? 1 : 0;
  if (*flag != 0) {
    const request& each = requests::of(handle);
    if (is_inactive(handle))
      set_empty(status);
    else
      each.under_way.result(each.arguments, status);
  }
  return MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Waitall(int count, MPI_Request* list, MPI_Status* statuses) {
  session* const in = session::active();
  if (in == nullptr || !has_ours(count, list)) return PMPI_Waitall(count, list, statuses);
  const call_guard guard(*in);
  int next = 0;  // those before are done
  in->ranks().wait(
      [&] {
        while (next < count && is_done(*in, list[next])) ++next;
        return next == count;
      },
      has_library_requests(count, list));
  return end_several(*in, all_places(count), list, statuses, true);
}

TRIREME_EXPORTED int MPI_Testall(int count, MPI_Request* list, int* flag, MPI_Status* statuses) {
  session* const in = session::active();
  if (in == nullptr || !has_ours(count, list)) return PMPI_Testall(count, list, flag, statuses);
  const call_guard guard(*in);
  in->ranks().progress();
  *flag = std::all_of(list, list + count, [&](MPI_Request each) { return is_done(*in, each); }) ? 1 : 0;
  return *flag != 0 ? end_several(*in, all_places(count), list, statuses, true) : MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Waitany(int count, MPI_Request* list, int* index, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !has_ours(count, list)) return PMPI_Waitany(count, list, index, status);
  const call_guard guard(*in);
  *index = MPI_UNDEFINED;
  if (all_inactive(count, list)) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  int found = -1;
  in->ranks().wait([&] { return (found = first_done(*in, count, list)) >= 0; }, has_library_requests(count, list));
  *index = found;
  return end_and_report(*in, list[found], status);
}

TRIREME_EXPORTED int MPI_Testany(int count, MPI_Request* list, int* index, int* flag, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !has_ours(count, list)) return PMPI_Testany(count, list, index, flag, status);
  const call_guard guard(*in);
  in->ranks().progress();
  *index = MPI_UNDEFINED;
  if (all_inactive(count, list)) {
    *flag = 1;
    set_empty(status);
    return MPI_SUCCESS;
  }
  const int found = first_done(*in, count, list);
  *flag = found >= 0 ? 1 : 0;
  if (found < 0) return MPI_SUCCESS;
  *index = found;
  return end_and_report(*in, list[found], status);
}

TRIREME_EXPORTED int MPI_Waitsome(int count, MPI_Request* list, int* done_count, int* indices, MPI_Status* statuses) {
  session* const in = session::active();
  if (in == nullptr || !has_ours(count, list)) return PMPI_Waitsome(count, list, done_count, indices, statuses);
  const call_guard guard(*in);
  if (all_inactive(count, list)) {
    *done_count = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  in->ranks().wait([&] { return first_done(*in, count, list) >= 0; }, has_library_requests(count, list));
  const std::vector<int> places = all_done(*in, count, list);
  *done_count = static_cast<int>(places.size());
  std::copy(places.begin(), places.end(), indices);
  return end_several(*in, places, list, statuses, false);
}

TRIREME_EXPORTED int MPI_Testsome(int count, MPI_Request* list, int* done_count, int* indices, MPI_Status* statuses) {
  session* const in = session::active();
  if (in == nullptr || !has_ours(count, list)) return PMPI_Testsome(count, list, done_count, indices, statuses);
  const call_guard guard(*in);
  in->ranks().progress();
  if (all_inactive(count, list)) {
    *done_count = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  const std::vector<int> places = all_done(*in, count, list);
  *done_count = static_cast<int>(places.size());
  std::copy(places.begin(), places.end(), indices);
  return end_several(*in, places, list, statuses, false);
}

TRIREME_EXPORTED int MPI_Request_free(MPI_Request* handle) {
  session* const in = session::active();
  if (!is_ours(*handle)) return PMPI_Request_free(handle);
  if (in == nullptr) {  // late in MPI_Finalize: what was ours has ended
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  const call_guard guard(*in);
  requests::give_up(*in, *handle);
  return MPI_SUCCESS;
}

// Sends whose data has left go on: MPI allows it, and says so to whoever asks MPI_Test_cancelled.
TRIREME_EXPORTED int MPI_Cancel(MPI_Request* handle) {
  session* const in = session::active();
  if (in == nullptr || !is_ours(*handle)) return PMPI_Cancel(handle);
  const call_guard guard(*in);
  request& each = requests::of(*handle);
  if (each.comm != nullptr && !is_inactive(*handle)) each.under_way.cancel(*in, each.arguments, *each.comm);
  return MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Start(MPI_Request* handle) {
  session* const in = session::active();
  if (in == nullptr || !is_ours(*handle)) return PMPI_Start(handle);
  const call_guard guard(*in);
  start(*in, *handle);
  return MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Startall(int count, MPI_Request* list) {
  session* const in = session::active();
  if (in == nullptr || !has_ours(count, list)) return PMPI_Startall(count, list);
  for (int i = 0; i < count; ++i)
    if (const int error = MPI_Start(&list[i]); error != MPI_SUCCESS) return error;
  return MPI_SUCCESS;
}
