// Calls that wait inside the MPI library without a barrier of ours before (coll/hosts/entry_barriers.hpp): for a lock
// that another rank holds, for a process of another job, for ranks of a communicator that is the library's. Messages of
// this rank with other hosts move on meanwhile:
//
// - Where the library serves several threads (MPI_THREAD_MULTIPLE) a thread of ours polls.
// - Elsewhere the library's own waits call us: Open MPI has a list of functions for that, and MPICH calls UCX through
//   us (library_waits_*.cpp). Where there is neither, as with an MPICH that has its network inside, nothing does.
//
// In any case the end of such a call is a poll, for programs that make them in a loop.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "mpi/startup/session.hpp"

namespace tri::mpi {

/// One such call, made without the call guard. Nothing where this rank has nothing open with other hosts.
class library_call {
 public:
  library_call() : in_(in_need()) {
    if (in_ != nullptr) [[unlikely]]
      begin();
  }
  ~library_call() {
    if (in_ != nullptr) [[unlikely]]
      end();
  }
  library_call(const library_call&) = delete;
  library_call& operator=(const library_call&) = delete;

  /// From a wait of the library, on the thread that waits. True: there was something to do.
  static bool progress() noexcept;

 private:
  static session* in_need() {
    session* const in = session::active();
    return in != nullptr && in->must_not_block() ? in : nullptr;
  }
  void begin();
  void end();

  session* in_;
};

template <class Call>
auto waiting_in_library(Call&& call) {
  const library_call waits;
  return call();
}

/// The thread of ours. It sleeps when no call has been open for a while.
class library_call_thread {
 public:
  library_call_thread(const library_call_thread&) = delete;
  library_call_thread& operator=(const library_call_thread&) = delete;
  explicit library_call_thread(session& in);
  ~library_call_thread();

  void call_begins();
  void call_ends();

 private:
  void run();

  session& session_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::uint64_t calls_ = 0;  // begun so far
  int open_ = 0;
  bool sleeps_ = false;
  bool ends_ = false;
  std::thread thread_;
};

namespace library_waits {
/// From now on, until `stop`, the waits of the library call library_call::progress, if it lets us.
void start();
void stop();
}  // namespace library_waits

}  // namespace tri::mpi
