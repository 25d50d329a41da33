// A coroutine's wait for messages of one method (awaited_messages.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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

/// Which messages of a method a coroutine takes.
enum class message_match : std::uint8_t {
  reference,             // those of its key
  reference_and_filter,  // of those the ones that its filter accepts
  filter,                // of all references the ones that its filter accepts
};

/// One coroutine waiting for messages of one method. Lives in the coroutine's frame.
class message_waiter {
 public:
  message_waiter(std::uint32_t method, std::uint64_t reference, std::size_t count,
                 message_match match = message_match::reference)
      : key_{method, reference}, missing_(count), match_(match) {}
  message_waiter(const message_waiter&) = delete;
  message_waiter& operator=(const message_waiter&) = delete;
  virtual ~message_waiter() {
    if (gone_ != nullptr) *gone_ = true;
  }
  /// Runs the method with the message's arguments and keeps its result, unless the method has ended the coroutine, and
  /// this with it (is_gone). False: the method threw and its caller was notified; the coroutine continues to wait.
  virtual bool accept(sched::envelope& message, const bool& is_gone) = 0;
  /// The filter. May replace an archive in the message by what it contains.
  virtual bool accepts(sched::envelope&) { return true; }

  const message_key& key() const { return key_; }
  bool satisfied() const { return missing_ == 0; }
  /// Which messages, for the stall report.
  std::string describe_match() const;

 private:
  friend class awaited_messages;
  message_key key_;
  std::size_t missing_;
  bool* gone_ = nullptr;  // while accept() runs
  // While its coroutine waits; the position as long as it is not satisfied.
  waiting_coroutine* entry_ = nullptr;
  void* position_ = nullptr;  // its entry in one of the queues of awaited_messages
  std::uint64_t order_ = 0;   // of those that wait, the smallest waits longest
  message_match match_;
  bool is_in_plain_queue_ = true;
};

}  // namespace tri::objects

#pragma GCC visibility pop
