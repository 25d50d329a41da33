// Runs the plan of one rank together with the ranks of its host: enters the operation, does the steps, leaves. A state
// machine without I/O and without a clock: what moves bytes and messages is a plan_driver. It never blocks; its owner
// calls advance() when something may have changed, which is after each wake-up.
//
// A rank that has nothing to do does open steps of the others, whose plans it generates: they may be computing.
//
// A plan that cannot be completed (a message is lost, there is no memory) fails on all ranks of the host: none begins
// another step, and none returns before all have stopped, because its buffers may be in use. Its messages are exchanged
// all the same, declined: so no other host waits for one that never comes, and the failure reaches all that need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "coll/entry_order.hpp"
#include "coll/execution.hpp"
#include "coll/operation_table.hpp"
#include "coll/plan.hpp"

namespace tri::coll {

enum class message_state : std::uint8_t {
  under_way,
  complete,  ///< sent: its bytes may be overwritten; received: they are there
  lost,      ///< it never will be, and nothing uses its bytes any more
};

/// What a plan_run needs of the world. All functions return at once but for copy and reduce, which take as long as the
/// bytes do.
class plan_driver {
 public:
  using buffers = operation_record::buffers;

  plan_driver() = default;
  plan_driver(const plan_driver&) = delete;
  plan_driver& operator=(const plan_driver&) = delete;
  virtual ~plan_driver() = default;

  /// Memory that all ranks of the host can use, for the record of the operation. Throws when there is none.
  virtual void* allocate_record(std::size_t bytes) = 0;
  virtual void release_record(void* memory) = 0;
  /// Addresses that all ranks of the host can use, with memory for the scratch and the states of the steps. False:
  /// there is no memory.
  virtual bool open(buffers& own) = 0;
  /// All steps have ended: the result is there, and no rank uses the buffers any more.
  virtual void close() = 0;
  /// What open() of a member of the host has allocated. Called by the last member that departs, for all.
  virtual void release(const buffers& of_member) = 0;

  virtual void copy(const std::byte* from, std::byte* to, std::uint64_t bytes) = 0;
  /// to = from op to, or to op from.
  virtual void reduce(step_kind side, const std::byte* from, std::byte* to, std::uint64_t bytes) = 0;

  /// A message to or from a rank of another host; `index` names it from now on. `at`: its bytes; null where it has
  /// none.
  virtual void begin_message(std::uint32_t index, const step& message, std::byte* at) = 0;
  /// One that is not exchanged any more: what is sent says so, and what is received is dropped.
  virtual void decline_message(std::uint32_t index, const step& message) = 0;
  /// Lost: also a message that its sender has declined.
  virtual message_state test_message(std::uint32_t index) = 0;

  /// The plan of another rank of the host, which stays until the operation is over; null: no help for it.
  virtual const plan* plan_of(std::int32_t rank) = 0;
  /// The other ranks of the host may have something to do.
  virtual void wake_others() = 0;
};

class plan_run {
 public:
  /// All arguments outlive it. `first_rank`: of the host, in the numbers of the plan, with `members` ranks; `operation`
  /// counts those of the table, the same on all ranks; `order` is of the process; `asked` is a digest of the request:
  /// where it differs, the operation fails.
  plan_run(const plan& of, operation_table& shared, entry_order& order, std::int32_t first_rank, std::uint32_t members,
           std::uint64_t operation, std::uint64_t asked, plan_driver& driver);

  /// Does what can be done now, up to so many steps. False: there was nothing. `helps`: then steps of others, too.
  bool advance(bool helps, std::size_t most_steps = std::numeric_limits<std::size_t>::max());
  /// All buffers are the caller's again.
  bool is_over() const { return state_ == state::over; }
  bool has_failed() const { return steps_.has_failed(); }
  failure why_failed() const { return why_failed_; }
  bool has_entered() const { return state_ != state::entering; }
  /// What decides the future, for explorations: the steps under way in any order.
  template <class Put>
  void describe(Put&& put) const {
    put(static_cast<std::uint64_t>(state_) | std::uint64_t{declined_} << 8 | std::uint64_t{has_failed()} << 9);
    steps_.describe(put);
    put(under_way_.size());
    for (const std::uint32_t index : under_way_) put(std::uint64_t{index} << 1 | std::uint64_t{is_begun(index)});
  }

 private:
  enum class state : std::uint8_t { entering, running, draining, over };

  bool enter();
  void fail();
  std::size_t do_steps(std::size_t most);
  bool try_step(std::uint32_t index);
  bool try_message(std::uint32_t index, const step& message);
  bool is_possible(const step& one) const;
  void perform(const step& one);
  std::size_t help(std::size_t most);
  std::size_t help_member(std::uint32_t member, std::size_t most);
  void decline_the_rest();
  bool is_begun(std::uint32_t index) const;
  void mark_begun(std::uint32_t index);
  void leave();
  void depart();
  std::uint32_t member_of(std::int32_t rank) const { return static_cast<std::uint32_t>(rank - first_rank_); }
  std::uint32_t own_member() const { return member_of(steps_.steps_of().rank); }
  bool is_there(const place& of) const;
  std::byte* address_of(const place& of) const;

  execution steps_;
  operation_table& shared_;
  entry_order& order_;
  const std::int32_t first_rank_;
  const std::uint32_t members_;
  const std::uint64_t operation_;
  const std::uint64_t asked_;
  plan_driver& driver_;
  operation_record* record_ = nullptr;
  state state_ = state::entering;
  std::vector<std::uint32_t> under_way_;   // steps that were named and have not ended
  std::vector<bool> is_message_begun_;     // by step; empty while there was none
  std::vector<std::uint32_t> first_open_;  // by member: of its steps, those before are claimed or have ended
  bool declined_ = false;
  failure why_failed_ = failure::none;
};

}  // namespace tri::coll
