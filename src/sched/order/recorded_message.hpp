// How a record of the order of messages (order_file.hpp) names a message. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "trireme/detail/sched/envelope.hpp"
#include "trireme/detail/sched/handler_table.hpp"

namespace tri::sched {

/// The queue by which a message comes. Messages and requests of one source keep their order, so the next one of the
/// source is meant; of the others the record has the number, counted for each source and handler.
enum class message_class : std::uint8_t {
  message,  ///< the usual way; of the PE itself: its own queue
  request,  ///< of another host, for the memory of this one (handler_row::may_be_served)
  copy,     ///< of a message of another host to all PEs, which may come by another process: a number that names it
  urgent,   ///< with a priority or immediate: the number among those that came to this PE
  node,     ///< of the node queue: the number among those that were taken from it
  timer,    ///< the number among those that this PE has set
  value,    ///< no message: something that other PEs change, as the program had it (pe::repeatable)
  end       ///< no message: the PE has left its loop; the number of entries
};

constexpr bool has_number(message_class what) { return what > message_class::request; }

struct recorded_message {
  message_class what = message_class::message;
  std::uint32_t source = 0;
  std::uint32_t handler = 0;
  std::uint64_t number = 0;  // if has_number(what)

  bool operator==(const recorded_message&) const = default;
};

/// Where messages of a class with numbers are counted.
constexpr std::uint64_t counted_as(std::uint32_t source, std::uint32_t handler) {
  return std::uint64_t{source} << 32 | handler;
}
/// The channel in which a message that came by an inbox keeps its order.
constexpr std::uint64_t channel_of(message_class what, std::uint32_t source) {
  return static_cast<std::uint64_t>(what) << 32 | source;
}

/// The name of a message that came by an inbox the usual way. `crossed`: its source is on another host.
inline recorded_message name_of(const envelope& message, bool crossed) {
  recorded_message name{message_class::message, message.source, message.handler, 0};
  const bool is_creation = handler_table()[message.handler].role == message_role::creation;
  if ((message.flags & envelope::is_deferred) != 0) {
    name.what = message_class::request;
  } else if ((message.flags & envelope::is_counted_copy) != 0 || (crossed && is_creation)) {
    // Broadcasts are numbered in their collection; of a creation the element is an address.
    const std::uint64_t number = is_creation ? 0 : message.element * 0x9e3779b97f4a7c15u >> 28;
    name.what = message_class::copy;
    name.number = (number + message.collection) & 0xffffffffff;
  }
  return name;
}

}  // namespace tri::sched
