// What precedes the block of a message between hosts, and what a receiver checks of it before it uses any of it. Pure
// functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "sched/remote/host_creations.hpp"
#include "trireme/detail/sched/envelope.hpp"
#include "trireme/detail/sched/message_form.hpp"
#include "wire/port.hpp"

namespace tri::sched {

enum class reach : std::uint8_t {
  one_pe,
  any_pe_of_process,
  all_pes_of_hosts,
  creation,                   // to all PEs of hosts, which acknowledge it
  creation_acknowledged,      // to the process that sent the creation
  creation_globally_visible,  // to all hosts: all have acknowledged it
};
constexpr bool goes_to_all_pes(reach to) { return to == reach::all_pes_of_hosts || to == reach::creation; }

/// A message without a block carries its arguments here.
struct wire_message {
  /// In `flags`, on the wire only: the number of its send is behind the payload, for a trace.
  static constexpr std::uint8_t is_traced = 32;
  /// In `flags`, on the wire only: the creations that the sender may know are behind all that.
  static constexpr std::uint8_t names_creations = 64;
  /// In `flags`, on the wire only: the answer to a request. Its receiver has memory for it: where it goes to, the
  /// request has said. So it does not wait for message memory, which may be full of requests of both sides.
  static constexpr std::uint8_t is_answer = 128;
  static_assert(((is_traced | names_creations | is_answer) &
                 (envelope::has_priority | envelope::is_immediate | envelope::is_backlog | envelope::any_count)) == 0);

  std::uint64_t element;
  std::uint32_t collection;
  std::uint32_t handler;
  std::uint32_t source;
  std::int32_t destination;  // as `to` says: a PE, a process, or a tree over hosts: its root + its rotation * hosts
  std::uint64_t block_bytes;
  reach to;
  payload_kind kind;
  std::uint8_t flags;
  std::uint8_t bytes;  // of a direct payload
  // The arguments, or the priority; behind them of a traced message the number of its send; behind that the creations
  // that it names, their number first. Last, sent as far as it is used.
  std::byte payload[inline_payload_bytes + sizeof(std::uint32_t) + 1 +
                    known_creations::most_makers * sizeof(known_creations::of_host)];
  static constexpr std::size_t fixed_bytes = 36;

  std::size_t payload_bytes() const {
    if (kind == payload_kind::direct) return bytes;
    return (flags & envelope::has_priority) != 0 ? sizeof(priority) : 0;
  }
  std::size_t used_bytes() const {
    return fixed_bytes + place_of_creations() +
           ((flags & names_creations) != 0 ? 1 + named_makers() * sizeof(known_creations::of_host) : 0);
  }
  std::span<const std::byte> used() const { return {reinterpret_cast<const std::byte*>(this), used_bytes()}; }
  void set_trace_number(std::uint64_t number) {
    flags |= is_traced;
    const auto sent = static_cast<std::uint32_t>(number);
    std::memcpy(payload + payload_bytes(), &sent, sizeof sent);
  }
  std::uint32_t trace_number() const {
    std::uint32_t number = 0;
    std::memcpy(&number, payload + payload_bytes(), sizeof number);
    return number;
  }
  /// After set_trace_number.
  void set_known(const known_creations& known) {
    flags |= names_creations;
    std::byte* const place = payload + place_of_creations();
    *place = static_cast<std::byte>(known.makers);
    std::memcpy(place + 1, known.maker, known.makers * sizeof known.maker[0]);
  }
  /// As far as they were sent; may be more than there can be.
  std::size_t named_makers() const { return std::to_integer<std::size_t>(payload[place_of_creations()]); }
  known_creations known() const {
    known_creations found;
    if ((flags & names_creations) == 0) return found;
    found.makers = static_cast<std::uint32_t>(named_makers());
    std::memcpy(found.maker, payload + place_of_creations() + 1, found.makers * sizeof found.maker[0]);
    return found;
  }

 private:
  std::size_t place_of_creations() const {
    return payload_bytes() + ((flags & is_traced) != 0 ? sizeof(std::uint32_t) : 0);
  }
};
static_assert(std::is_trivially_copyable_v<wire_message> && sizeof(wire_message) <= wire::header_limit &&
              offsetof(wire_message, payload) == wire_message::fixed_bytes);

/// What the receiver knows without the message.
struct wire_message_rules {
  std::uint64_t handlers = 0;
  std::span<const message_form> forms = {};  // of the handlers; without them arguments are not looked at
  std::int64_t pes = 0;                      // of the job
  std::int64_t hosts = 0;
  std::int64_t process = 0;   // the receiver
  std::int64_t first_pe = 0;  // of the receiver's
  std::int64_t own_pes = 0;
};

/// Empty, and `message` set, if every field is one that a process of the job may send here; else what is wrong, such as
/// "its field 'destination' is 1000000, which must be 2 to 3".
std::string decode_wire_message(const wire_message_rules& rules, std::span<const std::byte> header,
                                std::size_t body_bytes, wire_message& message);

}  // namespace tri::sched
