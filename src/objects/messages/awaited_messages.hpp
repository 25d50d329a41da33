// An element's messages for methods that its coroutines await (`when`), and the coroutines that wait for them. A
// message for an awaited method runs the method once both exist: the message, and a coroutine that awaits it with the
// same reference number (the method's first argument, if that is an integer). The method is named by the handler of its
// sends; the message may also be a call, which has a handler of its own.
#pragma once

#include <coroutine>
#include <cstdint>
#include <list>
#include <vector>

#include "objects/messages/keyed_queues.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::objects {

/// A waiting coroutine and all messages it waits for together.
struct waiting_coroutine {
  std::vector<message_waiter*> wanted;
  std::coroutine_handle<> coroutine;
  std::size_t unsatisfied = 0;  // of `wanted`
  std::list<waiting_coroutine>::iterator self{};
};

/// No message of a key is kept while a coroutine waits for one of that key.
class awaited_messages {
 public:
  struct kept {
    message_key key;
    sched::envelope message;
  };

  /// A message came, and a method of the element counts as running (owner_scope): gives it to the coroutine that has
  /// waited longest for it (and resumes that when it has all its messages), or keeps a copy. Returns true if the
  /// message was used.
  bool arrive(const message_key& key, sched::envelope& message);
  /// A coroutine requests messages: uses kept ones. True if it need not wait.
  bool satisfy(const std::vector<message_waiter*>& wanted);
  /// Afterwards, if it has to.
  void wait(std::vector<message_waiter*> wanted, std::coroutine_handle<> coroutine);
  /// The coroutine, known by anything it waits for, will not be resumed any more.
  void forget(const message_waiter& any);

  std::size_t kept_messages() const { return kept_.size(); }
  /// In order of arrival; none is left.
  std::vector<kept> take_messages();
  /// In order of asking.
  const std::list<waiting_coroutine>& waiters() const { return waiting_; }
  /// How often keys of messages and of waiters were compared so far; for tests.
  std::uint64_t comparisons() const { return kept_.comparisons() + wanted_.comparisons(); }

 private:
  void take_wanted(const message_waiter& waiter);

  keyed_queues<sched::envelope> kept_;
  std::list<waiting_coroutine> waiting_;
  keyed_queues<message_waiter*> wanted_;  // those of waiting coroutines that are not satisfied
};

}  // namespace tri::objects
