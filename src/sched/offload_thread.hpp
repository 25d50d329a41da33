// Work that may block, beside the PEs: a thread of the process runs it, one piece after another in the order in which
// they were handed over, and each comes back to its PE (Mei 2012, 6.4.2). The thread has no other work, so a long
// piece holds up neither a PE nor the wire.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "arena/sleeper.hpp"
#include "trireme/detail/sched/offload_request.hpp"

namespace tri::sched {

class offload_thread {
 public:
  /// The thread starts with the first piece of work and may run on these CPUs: PEs are bound, and it starts on one.
  explicit offload_thread(std::vector<int> cpus);
  ~offload_thread();
  offload_thread(const offload_thread&) = delete;
  offload_thread& operator=(const offload_thread&) = delete;

  /// Any PE of this process. Takes the request over and returns true; false after end(). Throws std::system_error when
  /// the thread cannot be started: then the request is still the caller's.
  bool push(offload_request* request);

  /// Returns when the piece that runs has ended; the others go back to their PEs without having run. One thread, once
  /// no other thread pushes; what is pushed later is refused.
  void end();

 private:
  void serve();
  void put(offload_request* request);
  offload_request* take();
  offload_request* sleep_until_some();

  const std::vector<int> cpus_;
  struct worker;
  std::unique_ptr<worker> worker_;
  std::atomic<offload_request*> newest_{nullptr};  // a stack; taken as a whole and turned round
  std::atomic<bool> ending_{false};
  arena::sleeper sleep_;
  offload_request last_{};  // the thread ends when it takes this one
};

}  // namespace tri::sched
