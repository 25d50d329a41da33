// A piece of work that may block, on its way from a PE to the offload thread of its process (offload_thread.hpp) and
// back.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/detail/sched/envelope.hpp"

#pragma GCC visibility push(default)

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
  /// On the PE that handed it over, as an immediate message. Not called when the job ends first.
  virtual void finish(pe& here) = 0;
};

inline constexpr std::size_t offloaded_bytes = 416;  // what makes a request a multiple of a cache line, 512

/// A piece of work in transit, in one block of the arena, which the PE's cache reuses for the next one. It returns
/// through the envelope at its front, like any urgent message.
struct offload_request {
  envelope answer;
  inbox_shared* home;
  offload_request* next;
  offloaded_work* work;  // in `place`
  alignas(16) std::byte place[offloaded_bytes];
};
static_assert(sizeof(offload_request) == 512 && std::is_standard_layout_v<offload_request>);

/// Hands the work in `request` (whose `work` is set) to the process's offload thread; the answer counts as sent by this
/// PE. Takes ownership of the request; when it throws, or the job is ending and false is returned, the caller keeps it.
bool offload(pe& here, offload_request* request);

}  // namespace tri::sched

#pragma GCC visibility pop
