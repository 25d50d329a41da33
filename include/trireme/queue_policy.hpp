// Queue policies by name: the order in which a PE takes the messages of elements that wait for it (Charm++:
// CkQueueing). A policy is a pure function from a message to its priority. Chosen by --tri-queue NAME for a job; an
// element's class and a call have `message_order` and `with` instead. Any thread.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/detail/sched/priority.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// What a policy may go by.
struct waiting_message {
  std::uint32_t collection = 0;  ///< array::id(), of groups likewise; 0: a single object
  std::uint64_t element = 0;     ///< element_ref::number(); in a dense array the place in row-major order
  std::string_view method = {};  ///< as traces name it; "call of ..." where the caller waits for the result
  int source = 0;                ///< the PE from which it has come here
  std::uint64_t bytes = 0;       ///< of its arguments
};

struct queue_policy {
  std::string name = {};     ///< lower-case letters, digits, - and _
  std::string summary = {};  ///< a line for lists
  /// Called once for each message, when a PE takes it out of its inbox. It must not throw, send or wait; several PEs
  /// call it at the same time. Of equal priorities the oldest message runs first, or the newest
  /// (priority::last_in_first_out); those before 0 run before all that have just come.
  std::function<priority(const waiting_message&)> order = {};
};

/// Adds one of the program's; call it before main or before tri::run, in every process. Throws std::invalid_argument
/// for a name that is taken or no name, and for no function.
void add_queue_policy(queue_policy added);

/// The first is the default; those of the program last.
std::vector<queue_policy> all_queue_policies();

}  // namespace tri

#pragma GCC visibility pop
