// Sending a message whose arguments are packed.
#pragma once

#include <stdexcept>
#include <string>

#include "trireme/detail/objects/arguments.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

/// Throws std::out_of_range when there is no such PE; the message begins with the result of `what`.
template <class Text>
void check_pe(sched::pe& here, int pe, Text&& what) {
  if (pe < 0 || pe >= here.job().pes()) [[unlikely]]
    throw std::out_of_range(std::string(what()) + " on PE " + std::to_string(pe) + "; there are PEs 0.." +
                            std::to_string(here.job().pes() - 1));
}

/// Calls `post`, which takes ownership of the message; when it throws (arena_exhausted), the arguments are destroyed
/// here.
template <class Post>
void post_or_drop(sched::pe& here, sched::envelope& message, Post&& post) {
  try {
    post();
  } catch (...) {
    sched::drop_message(here, message);
    throw;
  }
}

/// Takes ownership of the arguments: when there is no room for the message (arena_exhausted) they are destroyed here.
inline void post_packed(sched::pe& here, int destination, std::uint32_t handler, std::uint32_t collection,
                        std::uint64_t element, const packed_arguments& packed) {
  const auto fill = [&](sched::envelope& message) {
    message.element = element;
    message.collection = collection;
    message.handler = handler;
    message.flags = 0;
    packed.store(message);
  };
  try {
    here.send(destination, fill);
  } catch (...) {
    sched::envelope lost{};
    fill(lost);
    sched::drop_message(here, lost);
    throw;
  }
}

/// The same before everything that waits there, between two entry methods.
inline void post_immediately(sched::pe& here, int destination, std::uint32_t handler, std::uint32_t collection,
                             std::uint64_t element, const packed_arguments& packed) {
  sched::envelope message{};
  message.element = element;
  message.collection = collection;
  message.handler = handler;
  message.flags = sched::envelope::is_immediate;
  packed.store(message);
  post_or_drop(here, message, [&] { here.send_copy(destination, message); });
}

template <bool Immediate>
void post_packed_as(sched::pe& here, int destination, std::uint32_t handler, std::uint32_t collection,
                    std::uint64_t element, const packed_arguments& packed) {
  if constexpr (Immediate)
    post_immediately(here, destination, handler, collection, element, packed);
  else
    post_packed(here, destination, handler, collection, element, packed);
}

}  // namespace tri::objects

#pragma GCC visibility pop
