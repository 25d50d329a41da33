// One collection (array, group, ...) on one PE: the elements that live here, where the others are, and the part of its
// broadcasts and reductions that concerns this PE. Used by its PE's thread only. Knows
// elements by their base class; the typed layer is array.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "objects/collectives/host_contributions.hpp"
#include "objects/element.hpp"
#include "objects/index.hpp"
#include "objects/location/location_protocol.hpp"
#include "objects/pe_objects.hpp"
#include "os/function_ref.hpp"
#include "os/unique_function.hpp"
#include "sched/pe.hpp"

namespace tri::objects {

/// Placement maps by number; see element_placement.hpp.
using placement_function = int (*)(std::uint64_t number, std::uint64_t elements, int pes, const array_shape& shape);

/// What a collection shares among the PEs of a host; lies in the arena for the life of the job. Every host has its own.
struct collection_shared {
  /// Of the whole job, on the host of the creator.
  alignas(64) std::atomic<std::uint64_t> next_broadcast{0};
  /// Elements there ever were: all of a dense collection from the start, those of a sparse one from their insertion on.
  /// Of the whole job, on the host where the contributions meet.
  alignas(64) std::atomic<std::int64_t> created{0};
  /// Broadcasts below this number will not be asked for again on behalf of elements that left: a PE of this host, or
  /// any PE of another host.
  struct alignas(64) watermark_line {
    std::atomic<std::uint64_t> value{0};
  };
  watermark_line* low_water_marks = nullptr;  // of the PEs of this host, then of the hosts
  int host_pes = 0;
  std::atomic<std::uint64_t>& low_water_mark_of_pe(std::uint32_t host_pe) { return low_water_marks[host_pe].value; }
  std::atomic<std::uint64_t>& low_water_mark_of_host(int host) { return low_water_marks[host_pes + host].value; }

  static collection_shared* make(int host_pes, int hosts);
};

/// Plain description of a collection; travels in its creation message.
struct collection_facts {
  std::uint32_t id = 0;
  std::uint32_t placement = 0;
  array_shape shape;
  bool one_per_pe = false;              // a group: elements never move
  std::int32_t creator = 0;             // a PE
  collection_shared* shared = nullptr;  // null on its way to another host
};

/// The number of a broadcast on its way to the host that numbers them.
inline constexpr std::uint64_t unnumbered = ~std::uint64_t{0};

/// Runs a broadcast on one element, or (null) on all local ones that it is for.
using broadcast_function = void (*)(sched::pe&, local_collection&, sched::envelope&, element_base* only);

/// Names the collecting end of a reduction; plain data.
struct root_name {
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  std::uint32_t pe = nowhere;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};

/// Elements of `contribute` on their way to the root: those of a PE, or of a host.
class contribution_base {
 public:
  virtual ~contribution_base() = default;
  virtual void send_to_root(local_collection& home, std::uint64_t number) = 0;
  /// To the PE of this host that combines; `level` is that of this PE from now on.
  virtual void send_to_host(local_collection& home, std::uint64_t number, const reported_watermark& level) = 0;
  std::uint64_t count = 0;
};

class local_collection {
 public:
  using contributions_of_pes = host_contributions<std::unique_ptr<contribution_base>>;
  using constructor = host::unique_function<std::unique_ptr<element_base>()>;

  local_collection(pe_objects& objects, const collection_facts& facts, std::string name);
  ~local_collection();
  local_collection(const local_collection&) = delete;
  local_collection& operator=(const local_collection&) = delete;

  /// At the end of the job: lets go of all messages that are kept here, but for those that elements keep.
  void drop_held();
  /// At the end of the job. Every element can be found until its own turn comes.
  void destroy_elements();
  /// Ends the coroutines of an element and lets go of the messages it keeps; before it is destroyed.
  static void end(sched::pe& here, element_base& element);

  const collection_facts& facts() const { return facts_; }
  sched::pe& here() const { return here_; }
  pe_objects& objects() const { return objects_; }
  std::string describe(std::uint64_t number) const;

  // ---- elements
  element_base* find(std::uint64_t number) const {
    if (!dense_.empty()) [[likely]]
      return number < dense_.size() ? dense_[number] : nullptr;  // beyond: see check_number
    const auto found = sparse_.find(number);
    return found == sparse_.end() ? nullptr : found->second.get();
  }
  const std::vector<element_base*>& local_elements() const { return local_; }
  /// Creates the elements of a dense collection that the placement puts here.
  void create_initial(const constructor& make);
  /// Asks for a new element of a sparse collection to live here; the location protocol may delay or refuse it.
  void insert(std::uint64_t number, constructor make);
  /// Of an element that is to be born on another host, where the contributions meet; then its insertion goes on there.
  void count_created(std::uint64_t number, int where);
  void created_counted(std::uint64_t number);
  void erase(element_base& element);
  void migrate(element_base& element, int to);
  /// Of an element that was asked to move and had to wait: when the running method has ended.
  void reconsider(const element_base& element);
  /// See element_base::can_migrate_now.
  bool can_leave(const element_base& element, int to) const;

  // ---- messages
  /// Where to send a message for an element: a PE, or no_pe when the location protocol has to be asked (send_slowly).
  pe_number route(std::uint64_t number) const {
    if (routes_ != nullptr) [[likely]]
      return routes_[number];
    return route_slowly(number);
  }
  /// A message whose route is not simply known; takes over its payload, also when it throws arena_exhausted.
  void send_slowly(const sched::envelope& message);
  /// Ends the job when a message is for an element beyond those of a dense collection: only another process can have
  /// sent it, and not by a handle.
  void check_number(const sched::envelope& message) const;
  /// A message came for an element that is not (or not simply) here; takes over its payload.
  void arrived_elsewhere(sched::envelope& message);
  void control_arrived(std::uint64_t number, int from, const location_control& control);
  void element_arrived(std::uint64_t number, int from, std::unique_ptr<element_base> element,
                       std::uint64_t seen_broadcasts, std::uint64_t contributions);

  // ---- broadcasts: numbered in one order for the whole collection, run in that order on every PE
  void broadcast_arrived(sched::envelope& message, broadcast_function run);
  std::uint64_t delivered_broadcasts() const { return delivered_; }
  /// Created minus destroyed here so far; summed over all PEs at the moment of one broadcast it is the population then.
  std::int64_t net_created() const { return created_ - destroyed_; }
  /// False: no element is on its way that has had so many broadcasts.
  bool arrival_acknowledged(std::uint64_t seen);
  /// Numbers a broadcast that came from another host and sends it to all PEs; on the creator. Takes it over.
  void number_broadcast(sched::envelope& message);
  void low_water_mark_arrived(int host, std::uint64_t low_water_mark);

  // ---- contributions
  contribution_base& contribution(element_base& element, host::function_ref<std::unique_ptr<contribution_base>()> make);
  void contributed(element_base& element);
  /// Where this PE, as root, collects a contribution; a fresh one has pe == no root.
  root_name& contribution_root(std::uint64_t number);
  void forget_contribution_root(std::uint64_t number);
  /// The PE where the contributions of this collection meet. Only there: how many elements take part in a contribution,
  /// and the news that one was deleted, which takes part in none from `first_missing` on.
  int contribution_root_pe() const;
  /// The PE of this host where its parts meet first when the root is on another host, and there what they add up to.
  int host_contribution_pe() const;
  contributions_of_pes& contributions_of_host();
  void level_reported(int pe, const reported_watermark& level);
  std::int64_t contributors(std::uint64_t number) const;
  void member_left(std::uint64_t first_missing);

  /// What is known of elements elsewhere and of deleted ones, in entries; for tests.
  std::size_t location_entries() const { return location_.entries() + location_.ranges_of_dead(); }
  std::string describe_waiting() const;
  /// What reports call the collection: the name of its class.
  const std::string& name() const { return name_; }

 private:
  pe_number route_slowly(std::uint64_t number) const;
  pe_number home_of(std::uint64_t number) const;
  void install(std::unique_ptr<element_base> element);
  std::unique_ptr<element_base> remove(std::uint64_t number);
  void carry_out(std::uint64_t number, location_actions& actions);
  void answer_pending(element_base& deleted);
  void run_now(sched::envelope& message);
  void run_delivered(sched::envelope& message);
  void begin_migration(std::uint64_t number);
  void ask_for_migration(std::uint64_t number, location_actions& actions);
  void depart(std::uint64_t number, int to);
  bool begin_insert(std::uint64_t number);
  void finish_insert(std::uint64_t number);
  std::unique_ptr<element_base> construct(std::uint64_t number, const constructor& make);
  void catch_up(element_base& element, std::uint64_t seen);
  void deliver_broadcast(sched::envelope& message, broadcast_function run);
  void prune_history();
  void publish_low_water_mark();
  std::uint64_t lowest_mark_of_host() const;
  void send_low_water_mark_to_hosts();
  void leave_level(std::uint64_t level);
  void flush_contributions();
  std::uint64_t level() const { return levels_.empty() ? no_level : levels_.begin()->first; }
  void report_level();
  reported_watermark next_watermark(std::uint64_t level);
  const char* key_hint() const;
  void send_control(int to, std::uint64_t number, const location_control& control);

  pe_objects& objects_;
  sched::pe& here_;
  const collection_facts facts_;
  const std::string name_;

  std::vector<element_base*> dense_;  // by number; owned
  std::unordered_map<std::uint64_t, std::unique_ptr<element_base>> sparse_;
  std::vector<element_base*> local_;
  std::shared_ptr<const std::vector<pe_number>> initial_routes_;  // dense: one table per process
  std::vector<pe_number> own_routes_;                             // dense, once anything has migrated
  const pe_number* routes_ = nullptr;                             // whichever of the two is valid
  location_protocol<std::uint64_t, host::unique_function<pe_number(const std::uint64_t&)>> location_;
  std::unordered_map<std::uint64_t, constructor> pending_inserts_;

  std::uint64_t delivered_ = 0;
  struct logged_broadcast {
    sched::envelope message;
    broadcast_function run;
  };
  std::map<std::uint64_t, logged_broadcast> early_;  // came before its predecessors
  std::vector<logged_broadcast> history_;            // the newest has number delivered_ - 1
  std::multimap<std::uint64_t, int> travelling_;     // broadcasts seen by elements that left and have not arrived yet
  std::int64_t created_ = 0;
  std::int64_t destroyed_ = 0;
  std::map<std::uint64_t, std::int64_t> late_destroyed_;  // by the first broadcast for which they count

  std::map<std::uint64_t, std::size_t> levels_;  // contribute number -> local elements that contribute it next
  std::map<std::uint64_t, std::unique_ptr<contribution_base>> contributions_;
  const bool combined_in_host_;                               // contributions: their root is on another host
  reported_watermark reported_watermark_;                     // to the PE of the host that combines
  std::unique_ptr<contributions_of_pes> host_contributions_;  // there
  std::map<std::uint64_t, root_name> contribution_roots_;
  std::map<std::uint64_t, std::int64_t>
      left_members_;  // at the root: deleted elements by the first contribution they miss
};

/// Handlers of the layer itself (defined in local_collection.cpp).
extern const std::uint32_t element_handler;
extern const std::uint32_t control_handler;

/// Of a message that makes a collection, from another host: ends the job when something in it cannot be true.
void check_collection_facts(sched::pe& here, const sched::envelope& message, const collection_facts& facts);

}  // namespace tri::objects
