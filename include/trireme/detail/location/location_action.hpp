// The actions that the location protocol requests from the layer above it, and the control messages between its
// instances. Non-owning values. Written by element_route, executed by the caller of location_protocol.
#pragma once

#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::objects {

using pe_number = std::int32_t;
using message_ref = std::uint64_t;  // opaque to the protocol: kept, handed on, never looked into

inline constexpr pe_number no_pe = -1;

enum class location_signal : std::uint8_t {
  moved,         // to the previous hop: what you sent here for this element had to be forwarded
  flush,         // travels the way of messages; answered where the element is, so it pushes all before it
  flush_insert,  // the same, and requests creation of the element at `origin`
  flushed,       // answer from the element's place: everything before the flush has reached it
  refused,       // answer to flush_insert: the element exists; also means flushed
  parked,        // answer to flush_insert: deleted, but not to be re-created yet; a `moved` follows when it can be
  granted,       // answer to flush_insert: the element is yours; `owed` messages held for it follow
  buried,        // to the home: an element that the home granted has been deleted, and you represent it from now on
  prepare,       // to the target of a migration: stop sending, flush; the element moves to you
};

// One control message; trivially copyable so that it can be sent as it is.
struct location_control {
  location_signal signal = location_signal::moved;
  bool prepared = false;     // flush, flush_insert: sent in answer to `prepare`
  pe_number origin = no_pe;  // flush, flush_insert: receiver of the answer
  std::int32_t owed = 0;     // granted: number of backlog messages that follow on this channel

  friend bool operator==(const location_control&, const location_control&) = default;
};

enum class location_action_kind : std::uint8_t {
  deliver,         // `message` to the element here: append it to the queue of its PE, do not run it inside the call
  send,            // `message` to `peer`, with the `backlog` bit in its envelope
  control,         // `control` to `peer`
  depart,          // serialize the element, send it to `peer`, destroy it here
  inserted,        // construct the element here
  insert_refused,  // the element exists already: report the error, drop the constructor's arguments
  dead_letter,     // `message` reached the place of a deleted element: report it
  route_changed,   // fast_route of this element is now `peer` (no_pe: slow path); for callers that keep a flat table
};

struct location_action {
  location_action_kind kind = location_action_kind::deliver;
  bool backlog = false;
  pe_number peer = no_pe;
  message_ref message = 0;
  location_control control{};
};

// All actions of one call concern the element named in that call; execute them in order.
using location_actions = std::vector<location_action>;

}  // namespace tri::objects

#pragma GCC visibility pop
