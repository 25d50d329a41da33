// The objects layer's state on each PE: its local parts of all collections, awaited results, and work deferred until
// the running method has ended (migration and deletion of elements). Reached through pe::upper.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/detail/objects/result_table.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/detail/sched/pe.hpp"

namespace tri::objects {
class exposed_memories;
}  // namespace tri::objects

#pragma GCC visibility push(default)

namespace tri::objects {

class coroutine_owner;
class local_collection;
class move_list;
struct collection_facts;
class local_teams;
class sequence_numbers;
template <class Message>
class reorder_buffer;

/// The contribution of this host's PEs, and of the hosts below it in a tree, to a reduction whose root is on another
/// host; on one PE of the host. Complete when no base part is missing and nothing is in flight.
struct host_part {
  std::int64_t bases = 0;
  std::int64_t population = 0;
  std::int64_t elements = 0;
  std::int64_t missing_bases = 0;
  std::int64_t under_way = 0;
  int parent_pe = -1;          // combines it with others; -1: it goes to the root
  std::int64_t expected = 0;   // not of a broadcast: parts that the parent counts as in flight
  std::vector<int> children;   // not of a broadcast: hosts whose parts come here
  const void* kind = nullptr;  // &kind_of_result of the class
  virtual ~host_part() = default;
};

class pe_objects {
 public:
  explicit pe_objects(sched::pe& here);
  ~pe_objects();
  pe_objects(const pe_objects&) = delete;
  pe_objects& operator=(const pe_objects&) = delete;

  static pe_objects& of(const sched::pe& here) { return *static_cast<pe_objects*>(here.upper); }

  /// The local part of a collection on this PE, or null when its creation has not arrived yet.
  local_collection* find_local_collection(std::uint32_t collection) const {
    return collection < local_collections_.size() ? local_collections_[collection] : nullptr;
  }
  template <class Visit>
  void for_each_collection(Visit&& visit) const {
    for (local_collection* const each : local_collections_)
      if (each != nullptr) visit(*each);
  }
  local_collection& add_local_collection(const collection_facts& facts, std::string name);
  /// Keeps a message until its collection is created here; takes over the payload.
  void hold_for_creation(const sched::envelope& message);
  /// The local part of the message's collection. Null when its creation has not arrived yet: then the message is held.
  /// Always inline: on the way of every message, whose handlers must be as if it was written there.
  [[gnu::always_inline]] local_collection* find_or_hold(const sched::envelope& message) {
    local_collection* const found = find_local_collection(message.collection);
    if (found == nullptr) [[unlikely]]
      hold_for_creation(message);
    return found;
  }
  /// At the end of the job: drops all messages kept here, except those kept by elements.
  void drop_held();
  /// At the end of the job: destroys all objects of this PE.
  void end();
  /// At the end of the job: notifies awaited results that this table is destroyed; roots of reductions end.
  void abandon_results();
  /// Methods no longer run, and requests of destructors have no effect: messages that cannot be delivered to a PE at
  /// once are dropped, elements neither move nor are deleted individually, and nothing is broadcast.
  bool is_ending() const { return ending_; }
  /// Runs messages held for a collection that now exists.
  void release_held(std::uint32_t collection);

  /// Runs `work` after the current method has ended; outside of methods, as the work of a message.
  void defer(os::unique_function<void()> work);
  /// Called at the end of every outermost method.
  void run_deferred() {
    if (!deferred_.empty()) [[unlikely]]
      run_deferred_slowly();
  }
  /// Methods of objects that are active on this PE's stack; more than one only when a result resumes a coroutine.
  int method_depth = 0;

  /// Migrations that a balancing has ordered here; null where loads are not measured.
  move_list* moves = nullptr;

  result_table results;
  /// By PE and name of the root; null at first.
  std::unique_ptr<host_part>& part_of_host(std::uint32_t root_pe, std::uint32_t slot, std::uint32_t generation);
  void forget_part_of_host(std::uint32_t root_pe, std::uint32_t slot, std::uint32_t generation);
  /// Multicasts between hosts, which take different routes: the numbers of those sent, and early arrivals.
  sequence_numbers& multicasts_to();
  reorder_buffer<sched::envelope>& multicasts_from();
  local_teams& teams();
  /// Zero-copy sends of this PE, and to it.
  exposed_memories& exposed();
  /// Of methods of node groups that have begun on this PE.
  coroutine_owner& node_coroutines();
  /// Running number of the single objects that this PE creates for another; 0 is that of no object. One count for each
  /// of them, so that the numbers of the deleted ones there are neighbours (location/number_set.hpp).
  std::uint32_t next_single_for(int pe) { return ++singles_made_[static_cast<std::size_t>(pe)]; }
  /// The highest of these numbers; after a restart, what to begin behind.
  std::uint32_t last_single() const;
  void begin_singles_behind(std::uint32_t last);
  /// All collections that exist here, in the order of their creation.
  void visit_collections(os::function_ref<void(local_collection&)> visit) const;
  sched::pe& here;
  /// Calls of a mailbox that wait as messages: made before it existed here, and those after them. While there are any,
  /// further calls are also queued, to keep the order. The reference is valid as long as this object.
  std::uint64_t& late_mailbox_calls(std::uint32_t mailbox);

  /// A layer above has something to say in the stall report: lines that begin with "\n  PE ...".
  void report_waiting(os::unique_function<std::string()> describe) { reporters_.push_back(std::move(describe)); }
  std::string describe_waiting() const;

 private:
  void run_deferred_slowly();
  bool ending_ = false;
  std::vector<local_collection*> local_collections_;
  std::vector<os::unique_function<void()>> deferred_;
  std::vector<os::unique_function<std::string()>> reporters_;
  std::vector<std::uint32_t> singles_made_;  // by PE
  struct pending;
  std::unique_ptr<pending> pending_;
};

/// The message names a result of another kind: ends the job.
[[noreturn]] void refuse_wrong_result(const sched::envelope& message, const awaited_result& found);
/// The result that a message names, null when it is no longer awaited.
template <class Result>
Result* named_result(sched::pe& here, const sched::envelope& message, std::uint32_t slot, std::uint32_t generation) {
  awaited_result* const found = pe_objects::of(here).results.find(slot, generation);
  if (found != nullptr && found->kind() != &kind_of_result<Result>) [[unlikely]]
    refuse_wrong_result(message, *found);
  return static_cast<Result*>(found);
}

/// Ends the job when another host names a collection of this one that was never created. Collections of other hosts are
/// checked by their hosts.
void check_collection_number(sched::pe& here, const sched::envelope& message);
void ask_whether_made(sched::pe& here, const sched::envelope& message);

/// Marks a method as running; at the end of the outermost one, deferred work is done.
class method_scope {
 public:
  explicit method_scope(pe_objects& objects) : objects_(objects) { ++objects_.method_depth; }
  ~method_scope() noexcept(false) {
    if (--objects_.method_depth == 0) objects_.run_deferred();
  }
  method_scope(const method_scope&) = delete;
  method_scope& operator=(const method_scope&) = delete;

 private:
  pe_objects& objects_;
};

}  // namespace tri::objects

#pragma GCC visibility pop
