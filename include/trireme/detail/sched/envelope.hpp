// One message in a queue: a cache line with the address of the receiver, the handler to run and either the arguments
// themselves (up to 32 bytes) or a pointer to a block of the arena that holds them. Envelopes are written straight into
// the receiver's queue, so a short message moves one cache line from core to core. The receiver frees the block:
// detail/objects/arguments.hpp; a dropped message, handler_row::drop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trireme/detail/sched/priority.hpp"

#pragma GCC visibility push(default)

namespace tri::sched {

inline constexpr std::size_t inline_payload_bytes = 32;

/// The meaning of the 32 bytes of payload.
enum class payload_kind : std::uint8_t {
  direct,      ///< the arguments themselves
  block,       ///< a block_payload; the block holds the arguments as plain data
  objects,     ///< a block_payload; the block holds the arguments as C++ objects: for this process only
  serialized,  ///< a block_payload; the block holds an archive of the arguments
};

/// Payload of a message whose arguments do not fit or that has a priority.
struct block_payload {
  void* block;          // from arena::allocate; owned by the message
  std::uint64_t bytes;  // meaningful bytes in the block
  priority urgency;     // valid when the envelope has has_priority
};
static_assert(sizeof(block_payload) == inline_payload_bytes);

struct alignas(64) envelope {
  static constexpr std::uint8_t has_priority = 1;  ///< payload is a block_payload whose urgency counts
  static constexpr std::uint8_t is_immediate = 2;  ///< runs before everything that waits, between two entry methods
  static constexpr std::uint8_t is_backlog = 4;    ///< was held for an element before it existed (location protocol)
  /// Came from another host and counts in the message memory (wire_link.hpp) until it has run: of this process, or (one
  /// of the copies of a message to all PEs) of the host's first process. Handlers do not see these.
  static constexpr std::uint8_t is_counted = 8;
  static constexpr std::uint8_t is_counted_copy = 16;
  static constexpr std::uint8_t any_count = is_counted | is_counted_copy;
  /// A request that the PE which took it from the wire could not serve (handler_row::may_be_served). Inside a host
  /// only.
  static constexpr std::uint8_t is_deferred = 128;
  /// A request that has taken a slot for its answer (wire_link.hpp), and the answer to one. Inside a host only.
  static constexpr std::uint8_t holds_slot = 32;
  static constexpr std::uint8_t is_answer = 64;
  static constexpr std::uint8_t any_of_wire = any_count | is_deferred | holds_slot | is_answer;

  std::uint64_t stamp;  // belongs to the queue that holds the envelope (ticket of a ring, link of a list)
  std::uint64_t element;
  std::uint32_t collection;
  std::uint32_t handler;
  std::uint32_t source;  // PE that sent it last (the sender or a forwarder)
  std::uint16_t bytes;   // payload bytes in use; in the upper half the tag of a traced message. See used_bytes()
  payload_kind kind;
  std::uint8_t flags;
  alignas(16) std::byte payload[inline_payload_bytes];

  block_payload& block() { return *reinterpret_cast<block_payload*>(payload); }
  const block_payload& block() const { return *reinterpret_cast<const block_payload*>(payload); }

  /// Payload bytes in use. The writer of a message stores them in `bytes`; the upper half is then 0, as they are few.
  std::uint8_t used_bytes() const { return static_cast<std::uint8_t>(bytes & 0xff); }
  /// Bytes of arguments, wherever they are.
  std::uint64_t argument_bytes() const { return kind == payload_kind::direct ? used_bytes() : block().bytes; }
  /// Of a traced message (trace/format.hpp); 0 of others.
  std::uint8_t trace_tag() const { return static_cast<std::uint8_t>(bytes >> 8); }
  void set_trace_tag(std::uint8_t tag) { bytes = static_cast<std::uint16_t>((bytes & 0xff) | tag << 8); }

  /// The link of the intrusive lists of overflowing and urgent messages.
  envelope* next() const { return reinterpret_cast<envelope*>(stamp); }
  void set_next(envelope* other) { stamp = reinterpret_cast<std::uint64_t>(other); }

  /// Everything but the stamp; the queue writes that last.
  void assign_message(const envelope& other) {
    element = other.element;
    collection = other.collection;
    handler = other.handler;
    source = other.source;
    bytes = other.bytes;
    kind = other.kind;
    flags = other.flags;
    __builtin_memcpy(payload, other.payload, sizeof payload);
  }
};
static_assert(inline_payload_bytes < 256 && sizeof(envelope) == 64 && std::is_trivially_copyable_v<envelope>);

}  // namespace tri::sched

#pragma GCC visibility pop
