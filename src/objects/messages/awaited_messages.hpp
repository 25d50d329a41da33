// Where an element keeps messages for methods that its coroutines await (`when`), and the coroutines that wait for
// them. A message for an awaited method runs the method when both are there: the message, and a coroutine that asks for
// it with the same reference number (the method's first argument, if that is an integer). The method is named by the
// handler of its sends; the message may also be a call, which has a handler of its own.
#pragma once

#include <coroutine>
#include <cstdint>
#include <list>
#include <vector>

#include "objects/messages/keyed_queues.hpp"
#include "objects/task.hpp"
#include "sched/envelope.hpp"

namespace tri::objects {

class message_waiter;

/// A waiting coroutine and everything it waits for at once.
struct waiting_coroutine {
  std::vector<message_waiter*> wanted;
  std::coroutine_handle<> coroutine;
  std::size_t unsatisfied = 0;  // of `wanted`
};

/// One coroutine waiting for messages of one method. Lives in the coroutine's frame.
class message_waiter {
 public:
  message_waiter(std::uint32_t method, std::uint64_t reference, std::size_t count)
      : key_{method, reference}, missing_(count) {}
  message_waiter(const message_waiter&) = delete;
  message_waiter& operator=(const message_waiter&) = delete;
  virtual ~message_waiter() = default;
  /// Runs the method with the message's arguments and keeps its result. False: the method threw and its caller was
  /// told; the coroutine goes on waiting.
  virtual bool accept(sched::envelope& message) = 0;

  const message_key& key() const { return key_; }
  bool satisfied() const { return missing_ == 0; }

 private:
  friend class awaited_messages;
  void use(sched::envelope& message) {
    --missing_;  // first: the method may send, and what waits may change while it runs
    if (!accept(message)) ++missing_;
  }
  message_key key_;
  std::size_t missing_;
  // While its coroutine waits; the second as long as it is not satisfied.
  std::list<waiting_coroutine>::iterator entry_;
  keyed_queues<message_waiter*>::position position_;
};

/// No message of a key is kept while a coroutine waits for one of that key.
class awaited_messages {
 public:
  struct kept {
    message_key key;
    sched::envelope message;
  };

  /// A message came, and a method of the element counts as running (owner_scope): gives it to the coroutine that has
  /// waited longest for it (and resumes that coroutine when it has all it wants), or keeps a copy. Returns true if the
  /// message was used.
  bool arrive(const message_key& key, sched::envelope& message);
  /// A coroutine asks: uses kept messages. True if it need not wait.
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
  keyed_queues<sched::envelope> kept_;
  std::list<waiting_coroutine> waiting_;
  keyed_queues<message_waiter*> wanted_;  // those of waiting coroutines that are not satisfied
};

}  // namespace tri::objects
