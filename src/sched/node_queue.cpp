#include "sched/node_queue.hpp"

#include <bit>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "sched/place_among_equals.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::sched {
/// A vertex of a skew heap in the arena (Sleator and Tarjan 1986): no order but that of parents before children.
struct ordered_envelope {
  envelope message;
  priority level;
  std::uint64_t place;  // place_among_equals
  ordered_envelope* left;
  ordered_envelope* right;
};

namespace {

std::atomic_ref<std::uint64_t> stamp_of(envelope& cell) { return std::atomic_ref<std::uint64_t>(cell.stamp); }

bool comes_later(const ordered_envelope& a, const ordered_envelope& b) {
  return a.level != b.level ? a.level > b.level : a.place > b.place;
}
bool is_urgent(const priority& level) { return level < priority(0); }

// Along the right edges, which the exchange of children keeps short; without recursion, however long they are.
ordered_envelope* merged(ordered_envelope* a, ordered_envelope* b) {
  ordered_envelope* first = nullptr;
  ordered_envelope** place = &first;
  while (a != nullptr && b != nullptr) {
    if (comes_later(*a, *b)) std::swap(a, b);
    *place = a;
    ordered_envelope* const rest = a->right;
    a->right = a->left;
    place = &a->left;
    a = rest;
  }
  *place = a != nullptr ? a : b;
  return first;
}

}  // namespace

node_queue* node_queue::initialise(void* memory, std::uint64_t cells) {
  if (!std::has_single_bit(cells))
    throw std::invalid_argument("node queue: " + std::to_string(cells) + " cells asked for; it must be a power of two");
  auto* const queue = new (memory) node_queue;
  queue->cells_ = reinterpret_cast<envelope*>(static_cast<std::byte*>(memory) + sizeof(node_queue));
  queue->capacity_ = cells;
  for (std::uint64_t i = 0; i < cells; ++i) queue->cells_[i].stamp = i;
  return queue;
}

void node_queue::push(const envelope& message) {
  arena::handed_over(this);
  if ((message.flags & envelope::has_priority) != 0) [[unlikely]]
    return push_ordered(message);
  std::uint64_t ticket = pushes_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  for (;;) {
    envelope& cell = cell_of(ticket);
    const std::uint64_t stamp = stamp_of(cell).load(std::memory_order_acquire);  // pairs: node_queue.free
    const auto lead = static_cast<std::int64_t>(stamp - ticket);
    if (lead == 0) {
      if (pushes_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {  // pairs: node_queue.push
        cell.assign_message(message);
        stamp_of(cell).store(ticket + 1, std::memory_order_release);  // pairs: node_queue.full
        return;
      }
    } else if (lead < 0) {
      push_overflow(message);
      return;
    } else {
      ticket = pushes_.load(std::memory_order_relaxed);  // relaxed: as above
    }
  }
}

bool node_queue::pop(envelope& message) {
  // relaxed: a hint; the lock decides
  if (urgent_.load(std::memory_order_relaxed) != 0 && pop_ordered(message, true)) [[unlikely]]
    return true;
  std::uint64_t ticket = pops_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  for (;;) {
    envelope& cell = cell_of(ticket);
    const std::uint64_t stamp = stamp_of(cell).load(std::memory_order_acquire);  // pairs: node_queue.full
    const auto lead = static_cast<std::int64_t>(stamp - (ticket + 1));
    if (lead == 0) {
      if (pops_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        message.assign_message(cell);
        stamp_of(cell).store(ticket + capacity_, std::memory_order_release);  // pairs: node_queue.free
        return true;
      }
    } else if (lead < 0) {
      return pop_overflow(message);
    } else {
      ticket = pops_.load(std::memory_order_relaxed);  // relaxed: as above
    }
  }
}

void node_queue::push_overflow(const envelope& message) {
  auto* const copy = static_cast<envelope*>(arena::allocate(sizeof(envelope)));
  copy->assign_message(message);
  copy->set_next(nullptr);
  std::lock_guard guard(overflow_lock_);
  if (overflow_last_ == nullptr)
    overflow_first_ = copy;
  else
    overflow_last_->set_next(copy);
  overflow_last_ = copy;
  overflowed_.fetch_add(1, std::memory_order_seq_cst);  // pairs: node_queue.push
}

bool node_queue::pop_overflow(envelope& message) {
  if (overflowed_.load(std::memory_order_relaxed) == 0) return false;  // relaxed: the lock decides
  envelope* taken = nullptr;
  {
    std::unique_lock guard(overflow_lock_);
    taken = overflow_first_;
    if (taken == nullptr) {
      guard.unlock();
      return pop_ordered(message, false);
    }
    arena::taken_over();
    overflow_first_ = taken->next();
    if (overflow_first_ == nullptr) overflow_last_ = nullptr;
    overflowed_.fetch_sub(1, std::memory_order_seq_cst);
  }
  message.assign_message(*taken);
  arena::release(taken);
  return true;
}

void node_queue::push_ordered(const envelope& message) {
  auto* const added = new (arena::allocate(sizeof(ordered_envelope))) ordered_envelope{};
  added->message.assign_message(message);
  const priority urgency = message.block().urgency;
  added->level = urgency.level();
  std::lock_guard guard(overflow_lock_);
  added->place = place_among_equals(urgency, ordered_arrivals_++);
  ordered_ = merged(ordered_, added);
  // relaxed: the other count announces the message
  if (is_urgent(added->level)) urgent_.fetch_add(1, std::memory_order_relaxed);
  overflowed_.fetch_add(1, std::memory_order_seq_cst);  // pairs: node_queue.push
}

bool node_queue::pop_ordered(envelope& message, bool only_urgent) {
  ordered_envelope* taken = nullptr;
  {
    std::lock_guard guard(overflow_lock_);
    taken = ordered_;
    if (taken == nullptr || (only_urgent && !is_urgent(taken->level))) return false;
    arena::taken_over();
    ordered_ = merged(taken->left, taken->right);
    if (is_urgent(taken->level)) urgent_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
    overflowed_.fetch_sub(1, std::memory_order_seq_cst);
  }
  message.assign_message(taken->message);
  arena::release(taken);
  return true;
}

}  // namespace tri::sched
