// MPI's calls on requests. A list may hold requests of ours and of the MPI library in any mixture; a list without one
// of ours is the library's.
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "mpi/abi/abi.hpp"
#include "mpi/abi/exported.hpp"
#include "mpi/p2p/point_to_point.hpp"
#include "mpi/p2p/requests.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

bool is_intercepted(MPI_Request handle) { return handle != MPI_REQUEST_NULL && abi::is_own(handle); }

bool has_intercepted(int count, const MPI_Request* list) {
  return list != nullptr && count > 0 && std::any_of(list, list + count, is_intercepted);
}

// Where this rank must not block in the library, it does not poll it alone, either.
bool is_handled(const session& in, MPI_Request handle) {
  return is_intercepted(handle) || (handle != MPI_REQUEST_NULL && in.must_not_block());
}
bool are_handled(const session& in, int count, const MPI_Request* list) {
  return has_intercepted(count, list) || (list != nullptr && count > 0 && in.must_not_block());
}

bool is_inactive(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return true;
  return abi::is_own(handle) && requests::of(handle).is_inactive();  // the library knows for its own
}

// Of the library's requests, by asking it; it makes progress meanwhile.
bool is_done(session& in, MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return true;
  if (abi::is_own(handle)) {
    const request& each = requests::of(handle);
    return each.is_inactive() || each.is_done(in);
  }
  return is_done_in_library(handle);
}

bool asks_library(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return false;
  if (!abi::is_own(handle)) return true;
  const request& each = requests::of(handle);
  if (each.operation) return each.operation->asks_library();
  return each.comm != nullptr && each.comm->may_cross_hosts(each.arguments.peer);
}

// Ends a request that is done. Returns the class of its error; handlers are the caller's business.
int end(session& in, MPI_Request& handle, MPI_Status* status, MPI_Comm& comm) {
  comm = MPI_COMM_WORLD;
  if (handle == MPI_REQUEST_NULL) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  if (!abi::is_own(handle)) {
    const guard_release released(&in);
    return PMPI_Wait(&handle, status);
  }
  request& each = requests::of(handle);
  if (each.is_inactive()) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  // Without one: the send that was complete.
  if (each.comm != nullptr && !each.comm->is_freed) comm = each.comm->handle;
  const int error = each.finish(in, status);
  requests::end(handle);
  return error;
}

int end_and_report(session& in, MPI_Request& handle, MPI_Status* status) {
  const bool own = is_intercepted(handle);
  MPI_Comm comm = MPI_COMM_WORLD;
  const int error = end(in, handle, status, comm);
  return own ? report(comm, error) : error;
}

MPI_Status* status_of(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// How the requests of a list have ended, and which error handlers to call.
class endings {
 public:
  void add(MPI_Comm comm, MPI_Status* status, int error) {
    each_.push_back({status, error});
    if (error == MPI_SUCCESS) return;
    failed_ = comm;
    cause_ = error;
  }
  /// Its handler was already called.
  void add_told(MPI_Status* status, int error) { each_.push_back({status, error}); }
  /// With `are_bad` the statuses contain errors, whether or not there is a handler for them.
  int report_all(bool are_bad = false) const {
    if (failed_ == MPI_COMM_NULL && !are_bad) return MPI_SUCCESS;
    for (const auto& [status, error] : each_)
      if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
    return failed_ == MPI_COMM_NULL ? MPI_SUCCESS : report(failed_, MPI_ERR_IN_STATUS, cause_);
  }

 private:
  struct ending {
    MPI_Status* status;
    int error;
  };
  std::vector<ending> each_;
  MPI_Comm failed_ = MPI_COMM_NULL;
  int cause_ = MPI_SUCCESS;
};

bool asks_library(int count, const MPI_Request* list) {
  return std::any_of(list, list + count, [](MPI_Request each) { return asks_library(each); });
}

// A list whose requests must all end. The library's pending ones are polled by its own call on lists, also while ours
// are pending: another rank may wait for their data, and MPICH progresses file I/O in this call only. A request that
// stays pending is among them, so that the library completes none. Completed ones are not passed to the library again:
// MPICH (4.0, 5.0) would complete a file's request twice, and its reference count would abort the program.
class whole_list {
 public:
  whole_list(session& in, int count, MPI_Request* list) : in_(in), count_(count), list_(list) {
    for (int i = 0; i < count; ++i)
      if (list[i] != MPI_REQUEST_NULL && !abi::is_own(list[i])) indices_.push_back(i);
    look();
  }

  /// True when all are done, or when the library has ended some because others have failed.
  bool step() {
    if (!indices_.empty()) poll();
    return are_done() || !ended_early_.empty();
  }
  bool are_done() {
    while (next_ < count_ && (!is_intercepted(list_[next_]) || mpi::is_done(in_, list_[next_]))) ++next_;
    return next_ == count_ && indices_.empty();
  }

  /// After `step`: ends all that are done. Others remain only when some have failed.
  int end(MPI_Status* statuses) {
    endings all;
    bool librarys_failed = !ended_early_.empty();
    for (const early_ending& each : ended_early_) {
      if (MPI_Status* const status = status_of(statuses, each.index_in_list); status != MPI_STATUS_IGNORE)
        *status = each.status;
      all.add_told(status_of(statuses, each.index_in_list), each.error);
    }
    for (int i = 0; i < count_; ++i) {
      if (std::any_of(ended_early_.begin(), ended_early_.end(),
                      [&](const auto& each) { return each.index_in_list == i; }))
        continue;
      MPI_Status* const status = status_of(statuses, i);
      if (is_pending(i)) {
        all.add_told(status, MPI_ERR_PENDING);
        continue;
      }
      const bool is_librarys = list_[i] != MPI_REQUEST_NULL && !abi::is_own(list_[i]);
      MPI_Comm comm = MPI_COMM_WORLD;
      const int error = mpi::end(in_, list_[i], status, comm);
      if (is_librarys)
        all.add_told(status, error);
      else
        all.add(comm, status, error);
      librarys_failed |= is_librarys && error != MPI_SUCCESS;
    }
    const int own = all.report_all(librarys_failed);
    return own == MPI_SUCCESS && librarys_failed ? MPI_ERR_IN_STATUS : own;
  }

 private:
  struct early_ending {
    int index_in_list;
    MPI_Status status;
    int error;
  };

  // Which of the library's are done: it makes progress meanwhile, but polls no files.
  void look() {
    std::erase_if(indices_, [&](int each) { return is_done_in_library(list_[each]); });
  }
  void poll() {
    [[maybe_unused]] const abi::without_yields looking;
    polled_.clear();
    for (const int each : indices_) polled_.push_back(list_[each]);
    polled_.push_back(requests::open_in_library());
    statuses_.resize(polled_.size());
    int flag = 0;
    const guard_release released(&in_);
    const int error = PMPI_Testall(static_cast<int>(polled_.size()), polled_.data(), &flag, statuses_.data());
    if (error != MPI_SUCCESS) take_ended_early(error);
    look();
  }
  // MPICH ends all completed requests when one of them has failed. With any other error the library reports nothing
  // about its requests; none of them is polled again.
  void take_ended_early(int error) {
    std::vector<int> left;
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      const int of_this = error == MPI_ERR_IN_STATUS ? statuses_[i].MPI_ERROR : error;
      if (of_this == MPI_ERR_PENDING) {
        left.push_back(indices_[i]);
        continue;
      }
      list_[indices_[i]] = polled_[i];
      ended_early_.push_back({indices_[i], statuses_[i], of_this});
    }
    indices_.swap(left);
  }
  bool is_pending(int i) {
    if (is_intercepted(list_[i])) return !mpi::is_done(in_, list_[i]);
    return std::find(indices_.begin(), indices_.end(), i) != indices_.end();
  }

  session& in_;
  int count_;
  MPI_Request* list_;
  int next_ = 0;              // intercepted ones before are done
  std::vector<int> indices_;  // of the library's that are not done
  std::vector<MPI_Request> polled_;
  std::vector<MPI_Status> statuses_;
  std::vector<early_ending> ended_early_;
};

// The first requests of a list whose requests must all end, as far as they are simple ones of ours: each is ended as
// soon as it is done, in the order of the list. With the first one that is not, or that has failed, begins the rest.
class simple_requests {
 public:
  simple_requests(session& in, int count, MPI_Request* list, MPI_Status* statuses)
      : in_(in), count_(count), list_(list), statuses_(statuses) {}

  /// False: the next one is pending.
  bool step() {
    for (; next_ < count_; ++next_) {
      MPI_Request& handle = list_[next_];
      MPI_Status* const status = status_of(statuses_, next_);
      if (handle == MPI_REQUEST_NULL || handle == requests::done_send()) {
        handle = MPI_REQUEST_NULL;
        set_empty(status);
        continue;
      }
      if (!abi::is_own(handle)) break;
      request& each = requests::of(handle);
      if (!each.is_simple()) [[unlikely]]
        break;
      if (!each.under_way.is_done(in_)) return false;
      if (each.under_way.result(each.arguments, status) != MPI_SUCCESS) [[unlikely]]
        break;
      requests::end_simple(in_, each, handle);
    }
    return true;
  }
  /// All that are left are simple ones of ours.
  bool goes_on_to_the_end() const {
    return std::all_of(list_ + next_, list_ + count_, [](MPI_Request each) {
      return each == MPI_REQUEST_NULL || (abi::is_own(each) && requests::of(each).is_simple());
    });
  }
  int ended() const { return next_; }

 private:
  session& in_;
  int count_;
  MPI_Request* list_;
  MPI_Status* statuses_;
  int next_ = 0;
};

// A list with our requests and the library's, of which some must end. The library's are polled by its own calls on
// lists: only it knows which of them are inactive.
class mixed_list {
 public:
  mixed_list(session& in, int count, MPI_Request* list) : in_(in), list_(list) {
    for (int i = 0; i < count; ++i) {
      if (list[i] == MPI_REQUEST_NULL) continue;
      if (abi::is_own(list[i])) {
        if (!is_inactive(list[i])) own_.push_back(i);
      } else {
        librarys_.push_back(list[i]);
        indices_.push_back(i);
      }
    }
  }
  bool has_active() const { return !own_.empty() || !librarys_.empty(); }
  bool asks_library() const { return !librarys_.empty() || asks(list_, own_); }

  /// Ends one that is done. True, too, when it turns out that none is active; then the index is MPI_UNDEFINED. Handlers
  /// of errors are called by `report`, outside of waits.
  bool end_one(int& index_in_list, MPI_Status* status) {
    for (const int each : own_) {
      if (!is_done(in_, list_[each])) continue;
      index_in_list = each;
      error_ = end(in_, list_[each], status, failed_);
      return true;
    }
    if (!librarys_.empty()) {
      [[maybe_unused]] const abi::without_yields looking;
      const guard_release released(&in_);
      int index = MPI_UNDEFINED, flag = 0;
      error_ = PMPI_Testany(static_cast<int>(librarys_.size()), librarys_.data(), &index, &flag, status);
      if (flag != 0 && index != MPI_UNDEFINED) {
        index_in_list = index_of_returned(index);
        return true;
      }
      if (flag != 0) librarys_.clear();  // all inactive
    }
    if (has_active()) return false;
    index_in_list = MPI_UNDEFINED;
    set_empty(status);
    return true;
  }

  /// Ends all that are done; their statuses are stored consecutively. False when none is done but some are active.
  bool end_some(int& done, int* indices, MPI_Status* statuses) {
    done = 0;
    for (const int each : own_) {
      if (!is_done(in_, list_[each])) continue;
      MPI_Comm comm = MPI_COMM_WORLD;
      MPI_Status* const status = status_of(statuses, done);
      const int of_this = end(in_, list_[each], status, comm);
      all_.add(comm, status, of_this);
      indices[done++] = each;
    }
    if (!librarys_.empty()) {
      [[maybe_unused]] const abi::without_yields looking;
      const guard_release released(&in_);
      int librarys_done = 0;
      const int of_library =
          PMPI_Testsome(static_cast<int>(librarys_.size()), librarys_.data(), &librarys_done, indices + done,
                        statuses == MPI_STATUSES_IGNORE ? statuses : statuses + done);
      if (librarys_done == MPI_UNDEFINED) {
        librarys_.clear();  // all inactive
      } else {
        if (of_library != MPI_SUCCESS) error_ = of_library;  // its handlers were called
        for (int i = 0; i < librarys_done; ++i, ++done) {
          MPI_Status* const status = status_of(statuses, done);
          const bool says = of_library == MPI_ERR_IN_STATUS && status != MPI_STATUS_IGNORE;
          all_.add_told(status, says ? status->MPI_ERROR : MPI_SUCCESS);
          indices[done] = index_of_returned(indices[done]);
        }
      }
    }
    if (done > 0) return true;
    if (has_active()) return false;
    done = MPI_UNDEFINED;
    return true;
  }

  int report_one() const { return failed_ == MPI_COMM_NULL ? error_ : report(failed_, error_); }
  int report_some() const {
    const int own = all_.report_all(error_ != MPI_SUCCESS);
    return own != MPI_SUCCESS ? own : error_;
  }

 private:
  static bool asks(const MPI_Request* list, const std::vector<int>& indices) {
    return std::any_of(indices.begin(), indices.end(), [&](int each) { return mpi::asks_library(list[each]); });
  }
  // The library has changed the handle in our copy: null, or an inactive persistent one.
  int index_of_returned(int index) {
    const int index_in_list = indices_[static_cast<std::size_t>(index)];
    list_[index_in_list] = librarys_[static_cast<std::size_t>(index)];
    return index_in_list;
  }
  session& in_;
  MPI_Request* list_;
  std::vector<int> own_;  // indices of active ones
  std::vector<MPI_Request> librarys_;
  std::vector<int> indices_;  // of these
  endings all_;
  int error_ = MPI_SUCCESS;
  MPI_Comm failed_ = MPI_COMM_NULL;  // of an intercepted one
};

int start(session& in, MPI_Request handle) {
  request& each = requests::of(handle);
  if (each.repeated) {
    const int error = each.is_active ? MPI_ERR_REQUEST : each.repeated->start(in, each.operation);
    if (error != MPI_SUCCESS) return report(each.comm->is_freed ? MPI_COMM_WORLD : each.comm->handle, error);
  } else {
    each.under_way.begin(in, each.arguments, *each.comm);
  }
  each.is_active = true;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Wait(MPI_Request* handle, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !is_handled(*in, *handle)) return PMPI_Wait(handle, status);
  const call_guard guard(*in);
  // By the library's own test, which also polls files.
  if (!is_intercepted(*handle))
    return wait_for_library(*in, [&](int* flag) { return PMPI_Test(handle, flag, status); });
  in->ranks().wait([&] { return is_done(*in, *handle); }, asks_library(*handle));
  return end_and_report(*in, *handle, status);
}

TRIREME_EXPORTED int MPI_Test(MPI_Request* handle, int* flag, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !is_handled(*in, *handle)) return PMPI_Test(handle, flag, status);
  const call_guard guard(*in);
  in->ranks().progress();
  if (!is_intercepted(*handle)) {
    const guard_release released(in);
    return PMPI_Test(handle, flag, status);
  }
  *flag = is_done(*in, *handle) ? 1 : 0;
  in->ranks().polled(*flag != 0);
  return *flag != 0 ? end_and_report(*in, *handle, status) : MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !is_handled(*in, handle)) return PMPI_Request_get_status(handle, flag, status);
  const call_guard guard(*in);
  in->ranks().progress();
  if (!is_intercepted(handle)) {
    const guard_release released(in);
    return PMPI_Request_get_status(handle, flag, status);
  }
  *flag = is_done(*in, handle) ? 1 : 0;
  in->ranks().polled(*flag != 0);
  if (*flag != 0) {
    request& each = requests::of(handle);
    if (!is_inactive(handle)) each.settle(*in);
    if (is_inactive(handle))
      set_empty(status);
    else if (each.operation)
      each.operation->set_status(status);
    else
      each.under_way.result(each.arguments, status);
  }
  return MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Waitall(int count, MPI_Request* list, MPI_Status* statuses) {
  session* const in = session::active();
  if (in == nullptr || !are_handled(*in, count, list)) return PMPI_Waitall(count, list, statuses);
  const call_guard guard(*in);
  simple_requests first(*in, count, list, statuses);
  if (!first.step() && first.goes_on_to_the_end())
    in->ranks().wait([&] { return first.step(); }, in->hosts().are_several() && asks_library(count, list));
  const int ended = first.ended();
  if (ended == count) return MPI_SUCCESS;
  whole_list rest(*in, count - ended, list + ended);
  in->ranks().wait([&] { return rest.step(); }, asks_library(count - ended, list + ended));
  const int error = rest.end(status_of(statuses, ended));
  // When one status has an error field, all do.
  for (int i = 0; i < ended && error == MPI_ERR_IN_STATUS && statuses != MPI_STATUSES_IGNORE; ++i)
    statuses[i].MPI_ERROR = MPI_SUCCESS;
  return error;
}

TRIREME_EXPORTED int MPI_Testall(int count, MPI_Request* list, int* flag, MPI_Status* statuses) {
  session* const in = session::active();
  if (in == nullptr || !are_handled(*in, count, list)) return PMPI_Testall(count, list, flag, statuses);
  const call_guard guard(*in);
  in->ranks().progress();
  whole_list all(*in, count, list);
  const bool ends = all.step();
  // Not polled without it: others complete ours at any time, and a request reported as done must be ended.
  *flag = ends && all.are_done() ? 1 : 0;
  in->ranks().polled(ends);
  return ends ? all.end(statuses) : MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Waitany(int count, MPI_Request* list, int* index, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !are_handled(*in, count, list)) return PMPI_Waitany(count, list, index, status);
  const call_guard guard(*in);
  mixed_list mixed(*in, count, list);
  in->ranks().wait([&] { return mixed.end_one(*index, status); }, mixed.asks_library());
  return mixed.report_one();
}

TRIREME_EXPORTED int MPI_Testany(int count, MPI_Request* list, int* index, int* flag, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !are_handled(*in, count, list)) return PMPI_Testany(count, list, index, flag, status);
  const call_guard guard(*in);
  in->ranks().progress();
  mixed_list mixed(*in, count, list);
  *index = MPI_UNDEFINED;
  *flag = mixed.end_one(*index, status) ? 1 : 0;
  in->ranks().polled(*flag != 0);
  return mixed.report_one();
}

TRIREME_EXPORTED int MPI_Waitsome(int count, MPI_Request* list, int* done_count, int* indices, MPI_Status* statuses) {
  session* const in = session::active();
  if (in == nullptr || !are_handled(*in, count, list)) return PMPI_Waitsome(count, list, done_count, indices, statuses);
  const call_guard guard(*in);
  mixed_list mixed(*in, count, list);
  in->ranks().wait([&] { return mixed.end_some(*done_count, indices, statuses); }, mixed.asks_library());
  return mixed.report_some();
}

TRIREME_EXPORTED int MPI_Testsome(int count, MPI_Request* list, int* done_count, int* indices, MPI_Status* statuses) {
  session* const in = session::active();
  if (in == nullptr || !are_handled(*in, count, list)) return PMPI_Testsome(count, list, done_count, indices, statuses);
  const call_guard guard(*in);
  in->ranks().progress();
  mixed_list mixed(*in, count, list);
  in->ranks().polled(mixed.end_some(*done_count, indices, statuses));
  return mixed.report_some();
}

TRIREME_EXPORTED int MPI_Request_free(MPI_Request* handle) {
  session* const in = session::active();
  if (!is_intercepted(*handle)) return PMPI_Request_free(handle);
  if (in == nullptr) {  // late in MPI_Finalize: our requests have ended
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  const call_guard guard(*in);
  requests::give_up(*in, *handle);
  return MPI_SUCCESS;
}

// Sends whose data has left continue: MPI allows it, and MPI_Test_cancelled reports it.
TRIREME_EXPORTED int MPI_Cancel(MPI_Request* handle) {
  session* const in = session::active();
  if (in == nullptr || !is_intercepted(*handle)) return PMPI_Cancel(handle);
  const call_guard guard(*in);
  request& each = requests::of(*handle);
  if (each.operation)
    each.operation->cancel(*in);
  else if (each.comm != nullptr && !is_inactive(*handle))
    each.under_way.cancel(*in, each.arguments, *each.comm);
  return MPI_SUCCESS;
}

TRIREME_EXPORTED int MPI_Start(MPI_Request* handle) {
  session* const in = session::active();
  if (in == nullptr || !is_intercepted(*handle)) return PMPI_Start(handle);
  const call_guard guard(*in);
  return start(*in, *handle);
}

TRIREME_EXPORTED int MPI_Startall(int count, MPI_Request* list) {
  session* const in = session::active();
  if (in == nullptr || !has_intercepted(count, list)) return PMPI_Startall(count, list);
  for (int i = 0; i < count; ++i)
    if (const int error = MPI_Start(&list[i]); error != MPI_SUCCESS) return error;
  return MPI_SUCCESS;
}
