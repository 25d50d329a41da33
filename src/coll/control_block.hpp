// What the ranks of one host share while they run plans: the addresses of their buffers, counters, and who has left.
// One for each communicator, in shared memory, used by operation after operation: operation n has slot n modulo
// `slots`, when all ranks have left operation n - slots.
//
// A rank enters an operation, publishes its buffers, runs its plan, and leaves. The last one to leave clears the slot
// and opens it for another operation. An operation that failed is left by all; before a rank returns to its program it
// waits until all have, because others may have been using its buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::coll {

/// All functions of a member are called by that member, one thread at a time; `operation` counts from 0.
class control_block {
 public:
  static constexpr std::uint32_t usual_slots = 4;
  static constexpr std::uint32_t counters_of_member = 16;

  /// Of one member in one operation. Null where the plans touch none.
  struct buffers {
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* scratch = nullptr;
  };

  static std::size_t size_for(std::uint32_t members, std::uint32_t slots = usual_slots) {
    return sizeof(control_block) + slots * (sizeof(slot_head) + members * sizeof(member_part));
  }
  /// `memory`: size_for(members, slots) bytes, aligned to a cache line.
  static control_block* create(void* memory, std::uint32_t members, std::uint32_t slots = usual_slots) {
    auto* const made = new (memory) control_block(members, slots);
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      auto* const head = new (made->address_of(slot)) slot_head;
      head->turn.store(slot, std::memory_order_relaxed);  // relaxed: nobody has the block yet
      std::uninitialized_value_construct_n(reinterpret_cast<member_part*>(head + 1), members);
    }
    return made;
  }

  std::uint32_t members() const { return members_; }

  /// Whether its slot is free.
  bool may_enter(std::uint64_t operation) const { return turn_of(operation) == operation; }
  /// The member's buffers may be used by others from now on. Then it wakes those that wait for it.
  void enter(std::uint32_t member, std::uint64_t operation, const buffers& own) {
    member_part& part = part_of(member, operation);
    part.own = own;
    arena::handed_over(&part);
    // seq_cst: then the caller looks whether others sleep. pairs: control_block.enter
    part.entered.store(operation + 1, std::memory_order_seq_cst);
  }
  /// Null: it has not entered yet.
  const buffers* buffers_of(std::uint32_t member, std::uint64_t operation) const {
    const member_part& part = part_of(member, operation);
    // seq_cst: the last look before a sleep; it acquires the addresses. pairs: control_block.enter
    if (part.entered.load(std::memory_order_seq_cst) != operation + 1) return nullptr;
    arena::taken_over();
    return &part.own;
  }

  /// Adds 1; what happened before it is visible to those who see it. Then the caller wakes those that wait for it.
  void signal(std::uint64_t operation, std::uint32_t member, std::uint32_t counter) {
    arena::handed_over(&part_of(member, operation));
    // seq_cst: it releases, and then the caller looks whether others sleep. Signals of several ranks are one release
    // sequence, because all are read-modify-writes. pairs: control_block.signal
    part_of(member, operation).counters[counter].fetch_add(1, std::memory_order_seq_cst);
  }
  bool has_reached(std::uint64_t operation, std::uint32_t member, std::uint32_t counter, std::uint32_t value) const {
    // seq_cst: the last look before a sleep; it acquires. pairs: control_block.signal
    const bool reached = part_of(member, operation).counters[counter].load(std::memory_order_seq_cst) >= value;
    if (reached) arena::taken_over();
    return reached;
  }

  /// Counters of the operation, and whether it has failed: for explorations.
  template <class Put>
  void describe(std::uint64_t operation, Put&& put) const {
    const slot_head& head = head_of(operation);
    put(head.turn.load());
    put(head.failed.load());
    put(head.left.load());
    for (std::uint32_t member = 0; member < members_; ++member) {
      put(part_of(member, operation).entered.load());
      for (const auto& each : part_of(member, operation).counters) put(each.load());
    }
  }

  /// The operation cannot be completed. Then the caller wakes all.
  void fail(std::uint64_t operation) {
    head_of(operation).failed.store(1, std::memory_order_seq_cst);  // pairs: control_block.fail
  }
  bool has_failed(std::uint64_t operation) const {
    return head_of(operation).failed.load(std::memory_order_seq_cst) != 0;  // pairs: control_block.fail
  }

  /// The member touches nothing of the others any more. True for the last one, which then releases what belongs to the
  /// host (`buffers_of` of all members), calls `open_for_next`, and wakes all.
  bool leave(std::uint64_t operation) {
    arena::handed_over(&head_of(operation));
    // acq_rel: the last one sees that all others have finished. pairs: control_block.leave, with itself
    const bool is_last = head_of(operation).left.fetch_add(1, std::memory_order_acq_rel) + 1 == members_;
    if (is_last) arena::taken_over();
    return is_last;
  }
  void open_for_next(std::uint64_t operation) {
    slot_head& head = head_of(operation);
    for (std::uint32_t member = 0; member < members_; ++member)
      for (std::atomic<std::uint32_t>& each : part_of(member, operation).counters)
        each.store(0, std::memory_order_relaxed);  // relaxed, as are the next: nobody is in the slot
    head.failed.store(0, std::memory_order_relaxed);
    head.left.store(0, std::memory_order_relaxed);
    arena::handed_over(&head);
    // seq_cst: it releases the cleared slot, and then the caller looks whether others sleep. pairs: control_block.turn
    head.turn.store(operation + slots_, std::memory_order_seq_cst);
  }
  /// All members have left: nobody uses the buffers of this operation any more.
  bool is_left_by_all(std::uint64_t operation) const { return turn_of(operation) > operation; }

 private:
  struct alignas(64) slot_head {
    std::atomic<std::uint64_t> turn{0};  // the operation that has the slot, or the next one
    std::atomic<std::uint32_t> failed{0};
    alignas(64) std::atomic<std::uint32_t> left{0};
  };
  struct alignas(64) member_part {
    std::atomic<std::uint64_t> entered{0};  // operation + 1
    buffers own;
    alignas(64) std::atomic<std::uint32_t> counters[counters_of_member];
  };

  control_block(std::uint32_t members, std::uint32_t slots) : members_(members), slots_(slots) {}

  std::byte* address_of(std::uint64_t slot) const {
    return reinterpret_cast<std::byte*>(const_cast<control_block*>(this) + 1) +
           slot * (sizeof(slot_head) + members_ * sizeof(member_part));
  }
  slot_head& head_of(std::uint64_t operation) const {
    return *std::launder(reinterpret_cast<slot_head*>(address_of(operation % slots_)));
  }
  member_part& part_of(std::uint32_t member, std::uint64_t operation) const {
    return std::launder(reinterpret_cast<member_part*>(&head_of(operation) + 1))[member];
  }
  std::uint64_t turn_of(std::uint64_t operation) const {
    // seq_cst: the last look before a sleep; it acquires the cleared slot. pairs: control_block.turn
    const std::uint64_t turn = head_of(operation).turn.load(std::memory_order_seq_cst);
    arena::taken_over();
    return turn;
  }

  alignas(64) const std::uint32_t members_;
  const std::uint32_t slots_;
};

}  // namespace tri::coll
