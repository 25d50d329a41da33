// One collection on one PE (local_collection.hpp): keeps its elements, moves them, runs its broadcasts in order, and
// adds up its elements' contributions. Used by its PE's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checkpoint/state_file.hpp"
#include "objects/collectives/contribution_tree.hpp"
#include "objects/collectives/host_contributions.hpp"
#include "objects/collectives/subtree_marks.hpp"
#include "objects/location/location_protocol.hpp"
#include "sched/remote/host_tree.hpp"
#include "trireme/detail/objects/local_collection.hpp"

namespace tri::objects {

class collection_manager final : public local_collection {
 public:
  using sums_of_hosts = host_contributions<std::unique_ptr<contribution_base>>;

  collection_manager(pe_objects& objects, const collection_facts& facts, std::string name);
  ~collection_manager();

  /// At the end of the job: drops all messages kept here, except those kept by elements.
  void drop_held();
  /// Ends the coroutines of an element and drops the messages it keeps; before it is destroyed.
  static void end(sched::pe& here, element_base& element);
  /// At the end of the job. Every element can be found until its own turn comes.
  void destroy_elements();

  // ---- elements
  void create_initial(const constructor& make) override;
  void create_bound(const constructor& make) override;
  insertion_origin next_insertion() const override { return {delivered_ + (runs_broadcast_ ? 1 : 0), here_.number()}; }
  void insertion_begins(const insertion_origin& origin) override;
  void insert(std::uint64_t number, constructor make, const insertion_origin& origin) override;
  /// A message to an element that does not exist yet has come from here; its home asks.
  void create_here(std::uint64_t number);
  void begin_seed(std::uint64_t number, os::function_ref<std::unique_ptr<element_base>()> make) override;
  /// Counts an element to be created on another host, where the contributions are combined; its insertion then
  /// continues there.
  void count_created(std::uint64_t number, int where);
  void created_counted(std::uint64_t number);
  void erase(element_base& element) override;
  void migrate(element_base& element, int to) override;
  /// For an element whose requested move had to wait: after the running method has ended.
  void reconsider(const element_base& element);
  /// See element_base::can_migrate_now. With its partners.
  bool can_leave(const element_base& element, int to) const;
  /// Whether its class, and those of its partners, can migrate to another process.
  bool can_cross(std::uint64_t number) const;

  // ---- messages
  void send_slowly(const sched::envelope& message) override;
  /// Ends the job when a message is for an element beyond those of a dense collection: only another process can have
  /// sent it, and not by a handle.
  void check_number(const sched::envelope& message) const;
  void arrived_elsewhere(sched::envelope& message) override;
  void control_arrived(std::uint64_t number, int from, const location_control& control);
  void element_arrived(std::uint64_t number, int from, std::unique_ptr<element_base> element,
                       std::uint64_t seen_broadcasts, std::uint64_t contributions);

  // ---- broadcasts
  void broadcast_arrived(sched::envelope& message, broadcast_function run) override;
  std::int64_t net_created() const override { return created_ - destroyed_; }
  /// False: no element in transit has had this many broadcasts.
  bool arrival_acknowledged(std::uint64_t number, std::uint64_t seen);
  void number_broadcast(sched::envelope& message) override;
  /// From a neighbour in the tree of hosts (subtree_marks.hpp). False: `host` is none.
  bool low_water_mark_arrived(int host, std::uint64_t low_water_mark);
  /// Broadcasts kept for elements on their way; for tests.
  std::size_t history() const { return history_.size(); }

  // ---- contributions
  contribution_base& contribution(element_base& element,
                                  os::function_ref<std::unique_ptr<contribution_base>()> make) override;
  void contributed(element_base& element) override;
  root_name& contribution_root(std::uint64_t number) override;
  void forget_contribution_root(std::uint64_t number) override;
  std::unique_ptr<contribution_base>& contribution_of_hosts(std::uint64_t number) override {
    return contributions_of_hosts().sum(number);
  }
  void check_combined_here(const sched::envelope& message) const override;
  void level_reported(int pe, const reported_watermark& level) override;
  std::int64_t contributors(std::uint64_t number) const override;
  /// At the root: an element was deleted and takes part in no contribution from `first_missing` on.
  void member_left(std::uint64_t first_missing);

  // ---- checkpoints (checkpoint/collection_state.cpp), while no message is in flight
  /// Why this PE's elements cannot be written now; empty: they can. `caller`, if it is one of them, waits for the
  /// checkpoint: that does not count.
  std::string obstacle_to_checkpoint(const element_base* caller) const;
  void write_elements(checkpoint_files::state_writer& writer);
  /// A restart: before the first of the following, on every PE.
  void begin_restore(int pes_before);
  /// From the bytes of a record; not yet installed. Throws archive_error.
  std::unique_ptr<element_base> load_restored(std::uint64_t number, std::uint32_t type, input_archive& archive);
  void install_restored(std::unique_ptr<element_base> element);
  /// On the home of an element: it is on another PE, or (no_pe) was deleted.
  void restored_elsewhere(std::uint64_t number, pe_number place);
  pe_number home_of_restored(std::uint64_t number) const { return home_of(number); }
  void end_restore();

  /// Entries for elements elsewhere and for deleted ones; for tests.
  std::size_t location_entries() const { return location_.entries() + location_.ranges_of_dead(); }
  std::string describe_waiting() const;

 private:
  element_base* find_sparse(std::uint64_t number) const override;
  pe_number route_sparse(std::uint64_t number) const override { return location_.fast_route(number); }
  pe_number home_of(std::uint64_t number) const;
  void install(std::unique_ptr<element_base> element);
  std::unique_ptr<element_base> remove(std::uint64_t number);
  void carry_out(std::uint64_t number, location_actions& actions);
  void answer_pending(element_base& deleted);
  void run_delivered(sched::envelope& message);
  void begin_migration(std::uint64_t number);
  void ask_for_migration(std::uint64_t number, location_actions& actions);
  void depart(std::uint64_t number, int to);
  void send_element(std::uint64_t number, int to);
  bool begin_insert(std::uint64_t number);
  void finish_insert(std::uint64_t number);
  void catch_up_inserted(std::uint64_t number);
  void create_if_missing(std::uint64_t number, int wanted_by);
  void end_erased(std::uint64_t number);

  // ---- partners: elements of equal number in collections that are bound to one another. The first collection has the
  // locations of all; messages to any of them go through it.
  collection_manager& first() { return leader_ == nullptr ? *this : *leader_; }
  const collection_manager& first() const { return leader_ == nullptr ? *this : *leader_; }
  /// Of the first collection: this one, or one bound to it.
  collection_manager& bound_collection(std::uint32_t id);
  /// Calls visit(collection, element) for an element and its partners, as far as they are here; this one last. Of the
  /// first collection.
  template <class Visit>
  void visit_partners(std::uint64_t number, Visit&& visit) const {
    for (local_collection* const each : bound_)
      if (element_base* const partner = each->find(number)) visit(static_cast<collection_manager&>(*each), *partner);
    if (element_base* const own = find(number)) visit(const_cast<collection_manager&>(*this), *own);
  }
  struct arriving_element {
    int from;
    std::unique_ptr<element_base> element;
    std::uint64_t seen_broadcasts;
    std::uint64_t contributions;
  };
  void install_arrived(std::uint64_t number, arriving_element arriving);
  void begin_away_from_home(std::uint64_t number, os::function_ref<std::unique_ptr<element_base>()> make);
  void home_has_granted(std::uint64_t number);
  std::unique_ptr<element_base> construct(std::uint64_t number, os::function_ref<std::unique_ptr<element_base>()> make);
  void catch_up(element_base& element, std::uint64_t seen);
  void deliver_broadcast(sched::envelope& message, broadcast_function run);
  void prune_history();
  void publish_low_water_mark();
  std::uint64_t lowest_mark_of_host() const;
  sched::host_tree tree_of_marks() const;
  subtree_marks& marks_of_subtree();
  void send_low_water_mark(int host, std::uint64_t low_water_mark);
  void report_low_water_mark();
  void low_water_mark_of_job_rose(std::uint64_t low_water_mark);
  void leave_level(std::uint64_t level);
  void flush_contributions();
  sums_of_hosts& contributions_of_hosts();
  std::uint64_t level() const { return levels_.empty() ? no_level : levels_.begin()->first; }
  void report_level();
  void report_level_to(int pe, const reported_watermark& level);
  reported_watermark next_watermark(std::uint64_t level);
  const char* key_hint() const;
  void send_control(int to, std::uint64_t number, const location_control& control);

  sched::pe& here_;
  collection_manager* leader_ = nullptr;  // the collection that this one is bound to
  // Partners whose element of the first collection is right behind them.
  std::unordered_multimap<std::uint64_t, arriving_element> arriving_;
  std::unordered_map<std::uint64_t, std::unique_ptr<element_base>> sparse_;
  std::shared_ptr<const std::vector<pe_number>> initial_routes_;  // dense: one table per process
  std::vector<pe_number> own_routes_;                             // dense, once anything has migrated
  location_protocol<std::uint64_t, os::unique_function<pe_number(const std::uint64_t&)>> location_;
  const node_object* const state_of_map_;
  struct pending_insert {
    constructor make;
    insertion_origin origin;
  };
  std::unordered_map<std::uint64_t, pending_insert> pending_inserts_;
  std::unordered_set<std::uint64_t> asked_to_create_;  // at home: elements that are being created on demand
  // Of the single object that begins in this call, here at its home.
  const os::function_ref<std::unique_ptr<element_base>()>* beginning_ = nullptr;
  // Single objects that have begun here and whose home does not know it yet: whether they are to be deleted then.
  std::unordered_map<std::uint64_t, bool> not_granted_yet_;
  std::unordered_set<std::uint64_t> away_from_home_;  // begun here, granted, and never elsewhere

  std::uint64_t delivered_ = 0;
  struct logged_broadcast {
    sched::envelope message;
    broadcast_function run;
  };
  std::map<std::uint64_t, logged_broadcast> early_;  // came before its predecessors
  std::vector<logged_broadcast> history_;            // the newest has number delivered_ - 1
  // Broadcasts seen by elements that left, or were inserted from here, and are not there yet.
  std::multiset<std::uint64_t> travelling_;
  std::unique_ptr<subtree_marks> subtree_marks_;  // of the first PE of a host, where there are several
  bool runs_broadcast_ = false;                   // number delivered_, on all local elements
  std::int64_t created_ = 0;
  std::int64_t created_by_broadcast_ = 0;  // inserted by the one that runs: they count from the next one on
  std::int64_t destroyed_ = 0;
  std::map<std::uint64_t, std::int64_t> late_destroyed_;  // by the first broadcast for which they count

  std::map<std::uint64_t, std::size_t> levels_;  // contribute number -> local elements that contribute it next
  std::map<std::uint64_t, std::unique_ptr<contribution_base>> contributions_;
  const contribution_tree contribution_tree_;
  const bool is_combined_;                             // contributions: not sent to the root as they are
  reported_watermark reported_watermark_;              // to the PE of the host that combines
  std::unique_ptr<sums_of_hosts> host_contributions_;  // there
  std::map<std::uint64_t, root_name> contribution_roots_;
  std::uint64_t contributions_complete_ = 0;  // all of smaller numbers
  std::set<std::uint64_t> early_complete_;    // others, until those before them are
  std::map<std::uint64_t, std::int64_t>
      left_members_;  // at the root: deleted elements by the first contribution they miss
};

/// A message for another host that an element keeps: its bytes mean the same everywhere afterwards.
void make_carried_portable(sched::pe& here, sched::envelope& message);
/// Reads what follows such a message in an archive. Throws archive_error.
void load_carried_message(input_archive& archive, sched::envelope& message);

/// Handlers of the layer itself (defined in collection_manager.cpp).
extern const std::uint32_t element_handler;
extern const std::uint32_t control_handler;

}  // namespace tri::objects
