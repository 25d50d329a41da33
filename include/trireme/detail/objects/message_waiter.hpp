// A coroutine's wait for messages of one method (awaited_messages.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/detail/sched/envelope.hpp"

namespace tri::objects {
class awaited_messages;
}  // namespace tri::objects

#pragma GCC visibility push(default)

namespace tri::objects {

/// The messages of one method with one reference number.
struct message_key {
  std::uint32_t method = 0;
  std::uint64_t reference = 0;
  friend bool operator==(const message_key&, const message_key&) = default;
};

struct waiting_coroutine;

/// One coroutine waiting for messages of one method. Lives in the coroutine's frame.
class message_waiter {
 public:
  message_waiter(std::uint32_t method, std::uint64_t reference, std::size_t count)
      : key_{method, reference}, missing_(count) {}
  message_waiter(const message_waiter&) = delete;
  message_waiter& operator=(const message_waiter&) = delete;
  virtual ~message_waiter() = default;
  /// Runs the method with the message's arguments and keeps its result. False: the method threw and its caller was
  /// notified; the coroutine continues to wait.
  virtual bool accept(sched::envelope& message) = 0;

  const message_key& key() const { return key_; }
  bool satisfied() const { return missing_ == 0; }

 private:
  friend class awaited_messages;
  void use(sched::envelope& message) {
    --missing_;  // first: the method may send, and the waiters may change while it runs
    if (!accept(message)) ++missing_;
  }
  message_key key_;
  std::size_t missing_;
  // While its coroutine waits; the second as long as it is not satisfied.
  waiting_coroutine* entry_ = nullptr;
  void* position_ = nullptr;  // its entry in awaited_messages::wanted_
};

}  // namespace tri::objects

#pragma GCC visibility pop
