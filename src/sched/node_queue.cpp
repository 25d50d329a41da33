#include "sched/node_queue.hpp"

#include <bit>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::sched {
namespace {
std::atomic_ref<std::uint64_t> stamp_of(envelope& cell) { return std::atomic_ref<std::uint64_t>(cell.stamp); }
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
    std::lock_guard guard(overflow_lock_);
    taken = overflow_first_;
    if (taken == nullptr) return false;
    arena::taken_over();
    overflow_first_ = taken->next();
    if (overflow_first_ == nullptr) overflow_last_ = nullptr;
    overflowed_.fetch_sub(1, std::memory_order_seq_cst);
  }
  message.assign_message(*taken);
  arena::release(taken);
  return true;
}

}  // namespace tri::sched
