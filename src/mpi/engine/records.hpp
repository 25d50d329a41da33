// Pending operations in shared memory: receives, and messages that wait for one. The holder of the endpoint's lock may
// match them, in any process; the process that copied the data completes them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "matching/match_table.hpp"
#include "mpi/engine/rank_inbox.hpp"
#include "mpi/engine/user_buffer.hpp"

namespace tri::mpi {

using matching::any_source;
using matching::any_tag;
using matching::arrived_message;
using matching::message_key;
using matching::posted_receive;

struct endpoint;
struct incoming_message;  // from another host (internode/incoming_message.hpp)
struct send_record;

/// The completion of an operation, polled by its rank.
enum class progress_state : std::uint32_t {
  under_way,
  staged,  // receives: matched, and its own rank must copy the data (see receive_record::staged)
  complete
};

/// The order in which the program will touch the received data: the chunks copied last are still in the caches.
enum class touch_order : std::uint8_t {
  unknown,
  low_first,  // chunks are copied from the end of the buffer to its beginning
  high_first  // from the beginning to the end
};

struct receive_record {
  posted_receive posting;
  user_buffer buffer;
  endpoint* owner = nullptr;
  touch_order touched = touch_order::unknown;
  bool is_awaited = false;  // counted as one that others may complete while its rank computes

  // The result; written before `state`.
  message_key taken;                  // of the message
  std::uint64_t bytes = 0;            // of the message, which may be more than the buffer has
  std::uint32_t failed = 0;           // the kernel refused to copy
  arrived_message* staged = nullptr;  // the message, as a node, in state staged
  // While several processes copy the data: the bytes that are missing. The one that copies the last part completes both
  // records.
  send_record* copied_from = nullptr;
  std::atomic<std::uint64_t> bytes_left{0};
  std::atomic<progress_state> state{progress_state::under_way};

  bool is_complete() const {
    return state.load(std::memory_order_acquire) == progress_state::complete;
  }  // pairs: record.complete
  static receive_record& of(posted_receive& posting) {
    return reinterpret_cast<receive_record&>(posting);  // its first member
  }
};

/// The kind of memory of a message: a block of its own, or a buffer of its sender (eager_buffers.hpp).
enum class buffer_use : std::uint8_t { block, free, taken };

/// A message that waits for its receive. Data that came with the message follows this header in the same memory.
struct unexpected_message : arrived_message {
  message_kind kind = message_kind::in_block;
  bool is_of_other_host = false;  // an incoming_message (internode/incoming_message.hpp)
  std::atomic<buffer_use> use{buffer_use::block};
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};

/// In place of a number on the host: the rank is on another one.
inline constexpr std::uint32_t on_another_host = ~std::uint32_t{0};

/// A message whose data stays with the sender until it is copied. Memory of the sender.
struct send_record : unexpected_message {
  user_buffer buffer;
  endpoint* owner = nullptr;
  std::uint32_t target = 0;  // its destination rank, or on_another_host
  bool is_buffered = false;  // the program does not wait for it: it is released when it is complete
  std::atomic<progress_state> state{progress_state::under_way};

  bool is_complete() const {
    return state.load(std::memory_order_acquire) == progress_state::complete;
  }  // pairs: record.complete
};

}  // namespace tri::mpi
