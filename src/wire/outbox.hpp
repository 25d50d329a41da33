// Sends that found another thread at the wire: that thread takes them over before it leaves, so no thread ever waits
// for one that may have been preempted. A stack that is taken as a whole (R. K. Treiber, 1986) and then reversed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "wire/port.hpp"

namespace tri::wire {

struct waiting_send {
  peer_number to = 0;
  std::uint32_t header_bytes = 0;
  message_body body = {};
  std::vector<std::byte> address = {};  // of the peer, with the first message to it; otherwise empty
  waiting_send* next = nullptr;
  waiting_send* previous = nullptr;            // among those that wait for memory of the peer
  std::array<std::byte, header_limit> header;  // header_bytes of it
};

class outbox {
 public:
  outbox() = default;
  ~outbox() {
    for (waiting_send* send = take(); send != nullptr;) send = std::unique_ptr<waiting_send>(send)->next;
  }
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  /// Any thread.
  void push(std::unique_ptr<waiting_send> send) {
    waiting_send* const added = send.release();
    added->next = newest_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    // seq_cst: after this push its thread tries to take the progress lock; the holder of the progress lock checks here
    // after releasing it. One of the two sees the other. pairs: outbox.empty, progress_lock.taken
    while (!newest_.compare_exchange_weak(added->next, added, std::memory_order_seq_cst, std::memory_order_relaxed)) {
    }
  }
  bool empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }  // pairs: outbox.empty

  /// All of them, the oldest first, linked by `next`. Only by the holder of the progress lock.
  waiting_send* take() {
    if (newest_.load(std::memory_order_relaxed) == nullptr)
      return nullptr;  // relaxed: a hint; a missed push is found later
                       // by empty() after the release
    waiting_send* newest = newest_.exchange(nullptr, std::memory_order_acquire);  // pairs: outbox.push
    waiting_send* oldest = nullptr;
    while (newest != nullptr) {
      waiting_send* const older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

 private:
  std::atomic<waiting_send*> newest_{nullptr};
};

}  // namespace tri::wire
