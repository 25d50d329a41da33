#include "sched/inbox.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>
#include <string>

#include "sched/remote/wakeup_socket.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::sched {
namespace {

// Half of the ring stays free for producers that are between check and ticket. So it is as large as asked, or as their
// number demands.
std::uint64_t ring_capacity(std::uint32_t producers, std::uint64_t cells) {
  return std::max(cells, std::bit_ceil(std::uint64_t{producers} * 2));
}

}  // namespace

std::size_t inbox_shared::required_bytes(std::uint32_t producers, std::uint64_t cells) {
  return sizeof(inbox_shared) + ring_capacity(producers, cells) * sizeof(envelope);
}

inbox_shared* inbox_shared::initialise(void* memory, std::uint32_t producers, std::uint64_t cells) {
  if (!std::has_single_bit(cells))
    throw std::invalid_argument("inbox: " + std::to_string(cells) + " cells asked for; it must be a power of two");
  auto* const inbox = new (memory) inbox_shared;
  auto* const first = reinterpret_cast<envelope*>(static_cast<std::byte*>(memory) + sizeof(inbox_shared));
  inbox->ring.initialise(first, ring_capacity(producers, cells), producers);
  return inbox;
}

bool inbox_shared::wake_if_asleep() {
  if (!ring.mark_awake()) return false;
  bell.ring();
  // relaxed: see sleep_on
  if (const std::uint64_t name = wakeup_socket.load(std::memory_order_relaxed); name != 0) [[unlikely]]
    wakeup_socket::ring(name);
  return true;
}

namespace detail {

inbox_slot claim_overflow(inbox_shared& inbox) {
  auto* const message = static_cast<envelope*>(arena::allocate(sizeof(envelope)));
  // relaxed: the producer itself must see it on its next claim, which program order gives; the list orders the rest.
  inbox.overflow_pending.fetch_add(1, std::memory_order_relaxed);
  return {message, inbox_slot::overflow};
}

void publish_overflow(inbox_shared& inbox, envelope* message) {
  inbox.overflow.push(message);
  if (inbox.ring.reader_sleeps_after_event()) inbox.wake_if_asleep();
}

}  // namespace detail

void push_urgent(inbox_shared& inbox, envelope* message) {
  inbox.urgent.push(message);
  if (inbox.ring.reader_sleeps_after_event()) inbox.wake_if_asleep();
}

}  // namespace tri::sched
