// Work that may block, beside the PEs: a thread of the process runs it, one piece after another in the order in which
// they were handed over, and each comes back to its PE (Mei 2012, 6.4.2). The thread has no other work, so a long
// piece holds up neither a PE nor the wire.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "arena/doorbell.hpp"
#include "sched/envelope.hpp"

namespace tri::sched {

class pe;
struct inbox_shared;

class offloaded_work {
 public:
  offloaded_work() = default;
  offloaded_work(const offloaded_work&) = delete;
  offloaded_work& operator=(const offloaded_work&) = delete;
  /// On the PE, after finish() or instead of it.
  virtual ~offloaded_work() = default;
  /// On the offload thread.
  virtual void run() noexcept = 0;
  /// On the PE that handed it over, as an immediate message. Not called when the job has ended before.
  virtual void finish(pe& here) = 0;
};

inline constexpr std::size_t offloaded_bytes = 416;  // what makes a request a multiple of a cache line, 512

/// A piece of work on its way, in one block of the arena: its PE's cache uses the block again for the next one. What
/// comes back is the envelope at its front, like any urgent message.
struct offload_request {
  envelope answer;
  inbox_shared* home;
  offload_request* next;
  offloaded_work* work;  // in `place`
  alignas(16) std::byte place[offloaded_bytes];
};
static_assert(sizeof(offload_request) == 512 && std::is_standard_layout_v<offload_request>);

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
  /// nobody else pushes; what is pushed later is refused.
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
  std::atomic<bool> asleep_{false};
  std::atomic<bool> ending_{false};
  arena::doorbell bell_;
  offload_request last_{};  // the thread ends when it takes this one
};

/// Hands the work in `request` (whose `work` is set) to the process's offload thread; the answer counts as sent by this
/// PE. Takes the request over; when it throws, or the job is ending and false is returned, it is still the caller's.
bool offload(pe& here, offload_request* request);

}  // namespace tri::sched
