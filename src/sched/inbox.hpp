// The inbox of a PE: where every other PE of the host, thread or process, puts messages. Lives in the arena; one reader
// (the PE, by its inbox_reader), any number of producers. Three ways in:
//
//   ring       arena/ticket_ring.hpp, a cell per message: the way of nearly all.
//   overflow   a list. A full ring never blocks a producer: its message goes there, and as long as any overflow is
//              pending all further messages of it do; so the order of each sender is kept (proof in README.md).
//   urgent     prioritised and immediate messages: a list that the PE reads before anything else.
//
// Other kinds of queue (with a lock, a ring per pair of PEs) were slower; they are in bench/messages, with the rows
// that show it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/doorbell.hpp"
#include "arena/ticket_ring.hpp"
#include "trireme/detail/arena/sanitizer_handover.hpp"
#include "trireme/detail/sched/envelope.hpp"
#include "trireme/detail/sched/inbox_slot.hpp"

namespace tri::sched {

/// Treiber stack of envelopes with take-all, which the taker turns round.
class envelope_list {
 public:
  bool empty() const { return top_.load(std::memory_order_acquire) == nullptr; }  // pairs: envelope_list.push
  void push(envelope* message) {
    envelope* seen = top_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    do {
      message->set_next(seen);
      arena::handed_over(this);
    } while (!top_.compare_exchange_weak(seen, message, std::memory_order_release,
                                         std::memory_order_relaxed));  // pairs: envelope_list.push
  }
  /// The whole list, oldest first, linked by next().
  envelope* take_all() {
    envelope* newest = top_.exchange(nullptr, std::memory_order_acquire);  // pairs: envelope_list.push
    if (newest != nullptr) arena::taken_over();
    envelope* oldest = nullptr;
    while (newest != nullptr) {
      envelope* const below = newest->next();
      newest->set_next(oldest);
      oldest = newest;
      newest = below;
    }
    return oldest;
  }

 private:
  std::atomic<envelope*> top_{nullptr};
};

/// The part of an inbox that lies in the arena.
struct inbox_shared {
  static constexpr std::uint32_t expected_version = 2;

  std::uint32_t version = expected_version;
  arena::ticket_ring<envelope> ring;

  // Read by the reader on every turn, written only when something unusual happens: stays in all caches.
  alignas(64) envelope_list urgent;
  envelope_list overflow;
  std::atomic<std::uint64_t> overflow_pending{0};  // pushed to `overflow` and not yet run

  alignas(64) arena::doorbell bell;
  // wakeup_socket::name on which the reader sleeps while it is the poller
  std::atomic<std::uint64_t> wakeup_socket{0};

  /// Memory for an inbox with its ring, in bytes. The ring has more than `cells` if the producers are many.
  static std::size_t required_bytes(std::uint32_t producers, std::uint64_t cells);
  /// Lays an inbox into zeroed arena memory. Throws std::invalid_argument if `cells` is not a power of two.
  static inbox_shared* initialise(void* memory, std::uint32_t producers, std::uint64_t cells);
  /// Wakes the reader if it sleeps; for events that do not come through the queues. Any thread of the host.
  /// Returns whether it rang: false if the reader is awake, or another thread has just rung for it.
  bool wake_if_asleep();
  /// Reader: from now on it sleeps on the wakeup socket with this name, or (0) on `bell`. Before prepare_sleep or
  /// after wake_up. relaxed: a thread that finds the reader asleep comes after prepare_sleep, and finds this name or a
  /// later one; then it is awake. pairs: ticket_ring.sleep
  void sleep_on(std::uint64_t name) { wakeup_socket.store(name, std::memory_order_relaxed); }
};

/// Producer side. claim may throw arena_exhausted (overflow needs a block); then nothing happened.
inbox_slot claim(inbox_shared& inbox);
void publish(inbox_shared& inbox, const inbox_slot& slot);
/// Urgent messages: `message` is an arena block of at least sizeof(envelope) that the inbox now owns.
void push_urgent(inbox_shared& inbox, envelope* message);

namespace detail {
inbox_slot claim_overflow(inbox_shared& inbox);
void publish_overflow(inbox_shared& inbox, envelope* message);
}  // namespace detail

inline inbox_slot claim(inbox_shared& inbox) {
  // relaxed: only this producer's own pending overflow matters for its order, and that it sees in program order.
  if (inbox.overflow_pending.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return detail::claim_overflow(inbox);
  const std::uint64_t word = inbox.ring.draw(1, inbox.ring.limit());
  if (word == inbox.ring.full) [[unlikely]]
    return detail::claim_overflow(inbox);
  return {&inbox.ring.cell(word), word};
}

inline void publish(inbox_shared& inbox, const inbox_slot& slot) {
  if (slot.is_overflow()) [[unlikely]]
    return detail::publish_overflow(inbox, slot.message);
  inbox.ring.publish(slot.ticket_word);
  if (inbox.ring.reader_sleeps(slot.ticket_word)) [[unlikely]]
    inbox.wake_if_asleep();
}

}  // namespace tri::sched
