// What the ranks of one host share while they run plans, in shared memory. For each operation of a communicator a
// record: where the buffers of each rank are, its counters, which of its steps have ended, and who has left. A table
// finds the record of an operation by its number; the first rank that comes makes it, and the last one that goes
// removes it.
//
// Each step of a rank is done once, by the rank itself or by another one that waits and has nothing of its own to do:
// it claims the step. So nothing depends on a rank that has entered and then computes, or is in another library.
//
// An operation that failed is left by all; before a rank returns to its program it waits until all have, because others
// may have been using its buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::coll {

enum class step_state : std::uint8_t { open, claimed, ended };

enum class failure : std::uint32_t {
  none,
  lost,                 ///< a message, or there is no memory
  different_arguments,  ///< the ranks do not ask for the same operation
};

/// Members are numbered from 0. What a function says of "the member" may be done by any rank on its behalf.
class operation_record {
 public:
  static constexpr std::uint32_t counters_of_member = 16;

  /// Of one member. Null where the plans touch none. `steps`: the states of its steps, all `open` at first.
  struct buffers {
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* scratch = nullptr;
    std::atomic<step_state>* steps = nullptr;
    std::uint32_t step_count = 0;
  };

  static std::size_t size_for(std::uint32_t members) {
    return sizeof(operation_record) + members * sizeof(member_part);
  }
  /// `memory`: size_for(members) bytes, aligned to a cache line. `asked`: a digest of what the ranks have to agree on.
  static operation_record* create(void* memory, std::uint32_t members, std::uint64_t asked) {
    auto* const made = new (memory) operation_record(members, asked);
    std::uninitialized_value_construct_n(reinterpret_cast<member_part*>(made + 1), members);
    return made;
  }

  std::uint32_t members() const { return members_; }
  std::uint64_t asked() const { return asked_; }

  /// The buffers may be used by others from now on. Then the caller wakes those that wait for it.
  void enter(std::uint32_t member, const buffers& own) {
    member_part& part = part_of(member);
    part.own = own;
    arena::handed_over(&part);
    // seq_cst: then the caller looks whether others sleep. pairs: operation_record.enter
    part.entered.store(1, std::memory_order_seq_cst);
  }
  /// Null: it has not entered yet.
  const buffers* buffers_of(std::uint32_t member) const {
    const member_part& part = part_of(member);
    // seq_cst: the last look before a sleep; it acquires the addresses. pairs: operation_record.enter
    if (part.entered.load(std::memory_order_seq_cst) == 0) return nullptr;
    arena::taken_over();
    return &part.own;
  }

  /// Adds 1; what happened before it is visible to those who see it. Then the caller wakes those that wait for it.
  void signal(std::uint32_t member, std::uint32_t counter) {
    arena::handed_over(&part_of(member));
    // seq_cst: it releases, and then the caller looks whether others sleep. Signals of several ranks are one release
    // sequence, because all are read-modify-writes. pairs: operation_record.signal
    part_of(member).counters[counter].fetch_add(1, std::memory_order_seq_cst);
  }
  bool has_reached(std::uint32_t member, std::uint32_t counter, std::uint32_t value) const {
    // seq_cst: the last look before a sleep; it acquires. pairs: operation_record.signal
    const bool reached = part_of(member).counters[counter].load(std::memory_order_seq_cst) >= value;
    if (reached) arena::taken_over();
    return reached;
  }

  /// The member has entered.
  step_state state_of(std::uint32_t member, std::uint32_t step) const {
    // seq_cst: the last look before a sleep; `ended` acquires what the step did. pairs: operation_record.step
    const step_state state = part_of(member).own.steps[step].load(std::memory_order_seq_cst);
    if (state == step_state::ended) arena::taken_over();
    return state;
  }
  /// True: the caller does the step, all of whose dependencies it has seen ended, and then calls end_step.
  bool claim_step(std::uint32_t member, std::uint32_t step) {
    step_state open = step_state::open;
    // relaxed: the claim publishes nothing, and what the step needs was acquired from its dependencies
    return part_of(member).own.steps[step].compare_exchange_strong(open, step_state::claimed, std::memory_order_relaxed,
                                                                   std::memory_order_relaxed);
  }
  /// Then the caller wakes those that wait for it.
  void end_step(std::uint32_t member, std::uint32_t step) {
    arena::handed_over(part_of(member).own.steps);
    // seq_cst: it releases what the step did, and then the caller looks whether others sleep. pairs:
    // operation_record.step
    part_of(member).own.steps[step].store(step_state::ended, std::memory_order_seq_cst);
  }

  /// The operation cannot be completed. Then the caller wakes all.
  void fail(failure why) {
    failure none = failure::none;
    failed_.compare_exchange_strong(none, why,
                                    std::memory_order_seq_cst);  // the first one. pairs: operation_record.fail
  }
  failure why_failed() const { return failed_.load(std::memory_order_seq_cst); }  // pairs: operation_record.fail

  /// The caller touches nothing of the others any more, and does no step of theirs. Then it wakes all.
  void leave() {
    arena::handed_over(this);
    // seq_cst: it releases what the caller has done, and then the caller looks whether others sleep. pairs:
    // operation_record.leave
    left_.fetch_add(1, std::memory_order_seq_cst);
  }
  bool is_left_by_all() const {
    // seq_cst: the last look before a sleep; it acquires what all have done. pairs: operation_record.leave
    const bool left = left_.load(std::memory_order_seq_cst) == members_;
    if (left) arena::taken_over();
    return left;
  }
  /// After leave(): the caller does not look at the record any more. True for the last one: all have left, and it
  /// releases what belongs to the host (`buffers_of` of all members) and the record.
  bool depart() {
    const std::uint32_t members = members_;  // before the count: after it, the last one may have released the record
    arena::handed_over(this);
    // acq_rel: the last one sees that all others have finished. pairs: operation_record.depart, with itself
    const bool is_last = departed_.fetch_add(1, std::memory_order_acq_rel) + 1 == members;
    if (is_last) arena::taken_over();
    return is_last;
  }

  /// For explorations.
  template <class Put>
  void describe(Put&& put) const {
    put(static_cast<std::uint64_t>(failed_.load()) | std::uint64_t{left_.load()} << 16 |
        std::uint64_t{departed_.load()} << 32);
    for (std::uint32_t member = 0; member < members_; ++member) {
      const member_part& part = part_of(member);
      put(part.entered.load());
      for (const auto& each : part.counters) put(each.load());
      for (std::uint32_t step = 0; part.entered.load() != 0 && step < part.own.step_count; ++step)
        put(static_cast<std::uint64_t>(part.own.steps[step].load()));
    }
  }

 private:
  struct alignas(64) member_part {
    std::atomic<std::uint32_t> entered{0};
    buffers own;
    alignas(64) std::atomic<std::uint32_t> counters[counters_of_member];
  };

  operation_record(std::uint32_t members, std::uint64_t asked) : members_(members), asked_(asked) {}
  member_part& part_of(std::uint32_t member) const {
    return std::launder(reinterpret_cast<member_part*>(const_cast<operation_record*>(this) + 1))[member];
  }

  const std::uint32_t members_;
  const std::uint64_t asked_;
  std::atomic<failure> failed_{failure::none};
  alignas(64) std::atomic<std::uint32_t> left_{0};
  std::atomic<std::uint32_t> departed_{0};
};

/// The operations of one communicator that are under way, by number, from 0.
class operation_table {
 public:
  /// More operations at a time wait for the first ones to end.
  static constexpr std::uint64_t usual_places = 1024;

  static std::size_t size_for(std::uint64_t places = usual_places) {
    return sizeof(operation_table) + places * sizeof(std::atomic<std::uint64_t>);
  }
  static operation_table* create(void* memory, std::uint64_t places = usual_places) {
    auto* const made = new (memory) operation_table(places);
    std::uninitialized_value_construct_n(reinterpret_cast<std::atomic<std::uint64_t>*>(made + 1), places);
    return made;
  }

  struct found {
    operation_record* record = nullptr;
    bool is_busy = false;  ///< an earlier operation has the place
  };
  found find(std::uint64_t operation) const {
    // seq_cst: the last look before a sleep; it acquires the record. pairs: operation_table.place
    return read(place_of(operation).load(std::memory_order_seq_cst), operation);
  }
  /// After find() had nothing: `made` is the record, or another rank's is. Then the caller wakes the others.
  found add(std::uint64_t operation, operation_record* made) {
    std::uint64_t there = 0;
    arena::handed_over(this);
    // seq_cst: it releases the record, or acquires another one. pairs: operation_table.place
    if (place_of(operation).compare_exchange_strong(there, word_of(operation, made), std::memory_order_seq_cst,
                                                    std::memory_order_seq_cst))
      return {made, false};
    return read(there, operation);
  }
  bool share_a_place(std::uint64_t operation, std::uint64_t other) const {
    return operation % places_ == other % places_;
  }
  /// By the last rank that has departed, which then wakes the others.
  void remove(std::uint64_t operation) {
    arena::handed_over(this);
    // seq_cst: then the caller looks whether others sleep. pairs: operation_table.place
    place_of(operation).store(0, std::memory_order_seq_cst);
  }

 private:
  // An address has 47 bits. Above it stands which of the operations of this place it is, because the record itself may
  // be gone when its number is read.
  static constexpr int address_bits = 48;

  explicit operation_table(std::uint64_t places) : places_(places) {}
  std::atomic<std::uint64_t>& place_of(std::uint64_t operation) const {
    return std::launder(
        reinterpret_cast<std::atomic<std::uint64_t>*>(const_cast<operation_table*>(this) + 1))[operation % places_];
  }
  std::uint64_t turn_of(std::uint64_t operation) const { return operation / places_ << address_bits; }
  std::uint64_t word_of(std::uint64_t operation, operation_record* record) const {
    return reinterpret_cast<std::uint64_t>(record) | turn_of(operation);
  }
  found read(std::uint64_t word, std::uint64_t operation) const {
    if (word == 0) return {};
    arena::taken_over();
    constexpr std::uint64_t address = (std::uint64_t{1} << address_bits) - 1;
    if ((word & ~address) != turn_of(operation)) return {nullptr, true};
    return {reinterpret_cast<operation_record*>(word & address), false};
  }

  alignas(64) const std::uint64_t places_;
};

}  // namespace tri::coll
