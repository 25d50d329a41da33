// Messages of a PE to itself: a private queue of envelopes in chunks, so an envelope does not move while it runs, even
// when it sends. No atomic is touched, and in the steady state no memory is allocated.
// Used by one thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trireme/detail/sched/envelope.hpp"

#pragma GCC visibility push(default)

namespace tri::sched {

class local_queue {
 public:
  local_queue() : tail_(new_chunk()) { head_ = tail_; }
  ~local_queue();
  local_queue(const local_queue&) = delete;
  local_queue& operator=(const local_queue&) = delete;

  bool empty() const { return head_ == tail_ && head_position_ == tail_position_; }

  /// How many messages wait, the one that runs included.
  std::uint64_t size() const {
    return std::uint64_t{chunk_envelopes} * (chunks_ - 1) + tail_position_ - head_position_;
  }

  /// A slot at the end; the caller fills it before any other operation on the queue.
  envelope& push() {
    if (tail_position_ == chunk_envelopes) [[unlikely]]
      append_chunk();
    return tail_->cells[tail_position_++];
  }
  /// The first message, or null. It stays in place until `pop`.
  envelope* front() {
    if (head_position_ == tail_position_ && head_ == tail_) return nullptr;
    if (head_position_ == chunk_envelopes) [[unlikely]]
      drop_chunk();
    return &head_->cells[head_position_];
  }
  void pop() { ++head_position_; }

  /// Visits the messages in order, without the first `skipped` (0 or 1, the one that runs); the visitor may push.
  template <class Visit>
  void for_each(std::uint32_t skipped, Visit&& visit) {
    chunk* const last = tail_;
    const std::uint32_t last_position = tail_position_;
    std::uint32_t position = head_position_ + skipped;
    for (chunk* at = head_;; at = at->next, position = 0) {
      for (const std::uint32_t end = at == last ? last_position : chunk_envelopes; position < end; ++position)
        visit(at->cells[position]);
      if (at == last) return;
    }
  }

 private:
  static constexpr std::uint32_t chunk_envelopes = 255;
  struct chunk {
    envelope cells[chunk_envelopes];
    chunk* next;
  };
  static chunk* new_chunk();
  void append_chunk();
  void drop_chunk();

  chunk* head_ = nullptr;
  std::uint32_t head_position_ = 0;
  std::uint32_t tail_position_ = 0;
  std::uint32_t chunks_ = 1;
  chunk* tail_;
  chunk* spare_ = nullptr;
};

}  // namespace tri::sched

#pragma GCC visibility pop
