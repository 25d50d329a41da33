// Where an element keeps messages for methods that its coroutines await (`when`), and the coroutines that wait for
// them. A message for an awaited method runs the method when both are there: the message, and a coroutine that asks for
// it with the same reference number (the method's first argument, if that is an integer). The method is named by the
// handler of its sends; the message may also be a call, which has a handler of its own.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <vector>

#include "objects/task.hpp"
#include "sched/envelope.hpp"

namespace tri::objects {

/// One coroutine waiting for messages of one method. Lives in the coroutine's frame.
class message_waiter {
 public:
  message_waiter(std::uint32_t method, std::uint64_t reference, std::size_t count)
      : method_(method), reference_(reference), missing_(count) {}
  message_waiter(const message_waiter&) = delete;
  message_waiter& operator=(const message_waiter&) = delete;
  virtual ~message_waiter() = default;
  /// Runs the method with the message's arguments and keeps its result. False: the method threw and its caller was
  /// told; the coroutine goes on waiting.
  virtual bool accept(sched::envelope& message) = 0;

  bool matches(std::uint32_t method, std::uint64_t reference) const {
    return missing_ > 0 && method_ == method && reference_ == reference;
  }
  bool satisfied() const { return missing_ == 0; }

 protected:
  friend class awaited_messages;
  void use(sched::envelope& message) {
    --missing_;  // first: the method may send, and what waits may change while it runs
    if (!accept(message)) ++missing_;
  }
  std::uint32_t method_;
  std::uint64_t reference_;
  std::size_t missing_;
};

class awaited_messages {
 public:
  struct kept {
    std::uint32_t method;
    std::uint64_t reference;
    sched::envelope message;
  };
  /// A waiting coroutine and everything it waits for at once.
  struct waiting {
    std::vector<message_waiter*> wanted;
    std::coroutine_handle<> coroutine;
  };

  /// A message came, and a method of the element counts as running (owner_scope): gives it to the coroutine that has
  /// waited longest for it (and resumes that coroutine when it has all it wants), or keeps a copy. Returns true if the
  /// message was used.
  bool arrive(std::uint32_t method, std::uint64_t reference, sched::envelope& message);
  /// A coroutine asks: uses kept messages. True if it need not wait.
  bool satisfy(const std::vector<message_waiter*>& wanted);
  void wait(waiting entry) { waiting_.push_back(std::move(entry)); }
  void forget(std::coroutine_handle<> coroutine);

  std::size_t kept_messages() const { return kept_.size(); }
  const std::deque<kept>& messages() const { return kept_; }
  std::deque<kept> take_messages() { return std::move(kept_); }
  const std::vector<waiting>& waiters() const { return waiting_; }
  static std::uint32_t method_of(const message_waiter& waiter) { return waiter.method_; }
  static std::uint64_t reference_of(const message_waiter& waiter) { return waiter.reference_; }

 private:
  std::deque<kept> kept_;         // in order of arrival
  std::vector<waiting> waiting_;  // in order of asking
};

}  // namespace tri::objects
