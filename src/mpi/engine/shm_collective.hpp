// Barriers and small allreduces of the members of a communicator in shared memory, in one step whatever the number of
// ranks. A communicator uses one of two ways for all of them:
//
// - With more ranks than cores each member writes its few bytes and arrives; the last one combines them and wakes all.
//   So each rank is woken once; in a tree of messages it would be woken once per level.
// - Where each of a few ranks has a core, each member offers its bytes in a line of its own, reads those of all others,
//   and combines them itself: the time of one hand-off, without matching and locks. It has two lines and uses them in
//   turn. It overwrites one when all have offered in the other, so all have read the first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::mpi {

/// In shared memory. Barriers follow each other; a member enters the next one when it has left the last.
class shm_collective {
 public:
  static constexpr std::size_t most_bytes = 64;
  static constexpr std::size_t most_bytes_offered = 56;
  static constexpr std::uint32_t most_members_offering = 16;
  static std::size_t size_for(std::uint32_t members) {
    return sizeof(shm_collective) + members * (sizeof(part) + sizeof(std::atomic<std::uint64_t>) +
                                               (can_offer(members) ? 2 * sizeof(offer_line) : 0));
  }
  static constexpr bool can_offer(std::uint32_t members) { return members <= most_members_offering; }
  static shm_collective* create(void* memory, std::uint32_t members) {
    auto* const made = new (memory) shm_collective(members);
    std::uninitialized_value_construct_n(made->entered_, members);
    if (can_offer(members)) std::uninitialized_value_construct_n(made->offers_, 2 * members);
    return made;
  }

  /// True: all members have arrived. Then the caller reads all parts, writes the result and calls `end`.
  bool arrive(std::uint32_t member, const void* data, std::size_t bytes) {
    if (bytes > 0) std::memcpy(data_of(member), data, bytes);
    arena::handed_over(this);
    // acq_rel: the last one sees all parts. pairs: shm_collective.arrive, with itself
    const bool is_last = arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_;
    if (is_last) arena::taken_over();
    return is_last;
  }
  std::byte* data_of(std::uint32_t member) { return reinterpret_cast<part*>(this + 1)[member].data; }
  std::byte* outcome() { return outcome_.data; }
  /// By the last one; afterwards it wakes the others.
  void end() {
    arrived_.store(0, std::memory_order_relaxed);  // relaxed: the next member to arrive has seen the end
    arena::handed_over(this);
    // relaxed: only last ones write, and each has seen the end before. release pairs: shm_collective.end
    ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  /// The member's `count`-th barrier, from 1, has ended; its result stays valid until all have arrived at the next.
  bool has_ended(std::uint64_t count) const {
    const bool ended = ended_.load(std::memory_order_acquire) >= count;  // pairs: shm_collective.end
    if (ended) arena::taken_over();
    return ended;
  }
  /// The member's part of its `count`-th step, from 1; it has seen all parts of the one before. Afterwards the caller
  /// wakes the others (engine::wake_after_store).
  void offer(std::uint32_t member, std::uint64_t count, const void* data, std::size_t bytes) {
    offer_line& own = line_of(member, count);
    if (bytes > 0) std::memcpy(own.data, data, bytes);
    arena::handed_over(&own);
    // seq_cst: then the caller looks whether others sleep. pairs: shm_collective.offer, ticket_ring.sleep
    own.count.store(count, std::memory_order_seq_cst);
  }
  bool has_offered(std::uint32_t member, std::uint64_t count) const {
    // seq_cst: the last look before a sleep. pairs: shm_collective.offer, ticket_ring.sleep
    const bool offered = line_of(member, count).count.load(std::memory_order_seq_cst) == count;
    if (offered) arena::taken_over();
    return offered;
  }
  /// What it has offered; valid until the caller offers in the next step.
  const std::byte* offered_by(std::uint32_t member, std::uint64_t count) const { return line_of(member, count).data; }

  /// Nonblocking barriers, any number of them at a time: the member starts its next one. True: all members have; then
  /// the caller wakes the others.
  bool enter(std::uint32_t member) {
    const std::uint64_t count = entered(member) + 1;
    arena::handed_over(this);
    // seq_cst, with the loads that follow: the member with the last of all these stores sees all others. pairs:
    // shm_collective.enter
    entered_[member].store(count, std::memory_order_seq_cst);
    return have_all_entered(count);
  }
  /// How many the member itself has started.
  std::uint64_t entered(std::uint32_t member) const {
    return entered_[member].load(std::memory_order_relaxed);  // relaxed: its own
  }
  bool have_all_entered(std::uint64_t count) const {
    for (std::uint32_t member = 0; member < members_; ++member)
      if (entered_[member].load(std::memory_order_seq_cst) < count) return false;  // pairs: shm_collective.enter
    arena::taken_over();
    return true;
  }

  /// Memory for plans of the members, which the first one makes that needs it. Null: not yet, or never.
  void* plan_memory() const {
    const std::uintptr_t there = plans_.load(std::memory_order_acquire);  // pairs: shm_collective.plans
    if (there > without_plans) arena::taken_over();
    return there == without_plans ? nullptr : reinterpret_cast<void*>(there);
  }
  bool is_without_plans() const {
    return plans_.load(std::memory_order_relaxed) == without_plans;
  }  // relaxed: for good
  /// Returns what all members use: that of the first one. Null, from the first one: it had no memory, so none uses any.
  void* set_plan_memory(void* made) {
    std::uintptr_t there = 0;
    const std::uintptr_t own = made == nullptr ? without_plans : reinterpret_cast<std::uintptr_t>(made);
    arena::handed_over(this);
    // acq_rel: the others see what is there, or we what the first one has made. pairs: shm_collective.plans
    if (plans_.compare_exchange_strong(there, own, std::memory_order_acq_rel, std::memory_order_acquire)) return made;
    return plan_memory();
  }

  /// True for the last member, which gives the memory back.
  bool leave_for_good() {
    const std::uint32_t members = members_;  // before the count: after it, the last one may have given the place back
    // acq_rel: the others have finished reading. pairs: shm_collective.leave, with itself
    return left_.fetch_add(1, std::memory_order_acq_rel) + 1 == members;
  }

 private:
  struct alignas(64) part {
    std::byte data[most_bytes];
  };
  struct alignas(64) offer_line {
    std::atomic<std::uint64_t> count;
    std::byte data[most_bytes_offered];
  };
  explicit shm_collective(std::uint32_t members)
      : members_(members),
        offers_(reinterpret_cast<offer_line*>(reinterpret_cast<part*>(this + 1) + members)),
        entered_(reinterpret_cast<std::atomic<std::uint64_t>*>(offers_ + (can_offer(members) ? 2 * members : 0))) {}
  offer_line& line_of(std::uint32_t member, std::uint64_t count) const {
    return offers_[2 * std::size_t{member} + count % 2];
  }

  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  static constexpr std::uintptr_t without_plans = 1;

  const std::uint32_t members_;
  std::atomic<std::uint32_t> left_{0};
  std::atomic<std::uintptr_t> plans_{0};
  offer_line* const offers_;
  std::atomic<std::uint64_t>* const entered_;  // of each member: barriers that it has started
  // A line of its own: waiting members poll it.
  alignas(64) std::atomic<std::uint64_t> ended_{0};
  part outcome_;
};

}  // namespace tri::mpi
