// One collection (array, group, ...) on one PE as messages, elements and the typed layer (array.hpp) see it: the local
// elements, the locations of the others, and this PE's part of its broadcasts and reductions. Used by its PE's thread
// only. Handles elements through their base class. The implementation is collection_manager.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/detail/location/location_action.hpp"
#include "trireme/detail/objects/element.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/objects/reported_watermark.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/index.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

class node_object;

/// Placement maps by number; see trireme/placement.hpp. `state`: of maps that have any (placement_map.hpp), else null.
using placement_function = int (*)(std::uint64_t number, std::uint64_t elements, int pes, const array_shape& shape,
                                   const node_object* state);

/// What a message to an element does that never existed; otherwise it waits for its insertion.
enum class creation_on_demand : std::uint8_t { no, at_home, at_sender };

/// A collection's state shared by the PEs of a host; in the arena for the life of the job. One per host.
struct collection_shared {
  /// Of the whole job, on the host of the creator.
  alignas(64) std::atomic<std::uint64_t> next_broadcast{0};
  /// Elements ever created: all of a dense collection from the start, those of a sparse one from their insertion on.
  /// For the whole job, on the host where the contributions are combined.
  alignas(64) std::atomic<std::int64_t> created{0};
  /// Broadcasts below this number will not be requested again on behalf of elements that left: a PE of this host, or
  /// (with several hosts) any PE of the job.
  struct alignas(64) watermark_line {
    std::atomic<std::uint64_t> value{0};
  };
  watermark_line* low_water_marks = nullptr;  // of the PEs of this host, then of the job
  int host_pes = 0;
  std::atomic<std::uint64_t>& low_water_mark_of_pe(std::uint32_t host_pe) { return low_water_marks[host_pe].value; }
  std::atomic<std::uint64_t>& low_water_mark_of_job() { return low_water_marks[host_pes].value; }

  static collection_shared* make(int host_pes);
};

/// Plain description of a collection; travels in its creation message.
struct collection_facts {
  std::uint32_t id = 0;
  std::uint32_t placement = 0;
  std::uint32_t map = 0;       // of the placement: the node group that has its state; 0: it has none
  std::uint32_t bound_to = 0;  // a collection of the same shape, whose elements of equal number are on the same PE
  array_shape shape;
  bool one_per_pe = false;  // a group: elements never move
  creation_on_demand on_demand = creation_on_demand::no;
  std::uint32_t element_type = 0;       // whose elements messages create
  std::int32_t creator = 0;             // a PE
  collection_shared* shared = nullptr;  // null on its way to another host
};

/// Where and when an element was inserted by the program: it gets the broadcasts from `seen` on.
struct insertion_origin {
  std::uint64_t seen = 0;   // broadcasts that had run there
  std::int32_t pe = no_pe;  // no_pe: the collection did not exist there
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

/// Elements of `contribute` on their way to the root: those of a PE, or of hosts.
class contribution_base {
 public:
  explicit contribution_base(const void* its_kind) : kind(its_kind) {}
  virtual ~contribution_base() = default;
  virtual void send_to_root(local_collection& home, std::uint64_t number) = 0;
  /// To a PE that combines; `level` is that of the sender from now on.
  virtual void send_to_combine(local_collection& home, int to, std::uint64_t number,
                               const reported_watermark& level) = 0;
  std::uint64_t count = 0;
  const void* const kind;  // &kind_of_result of the class
};

class local_collection {
 public:
  using constructor = os::unique_function<std::unique_ptr<element_base>()>;

  local_collection(const local_collection&) = delete;
  local_collection& operator=(const local_collection&) = delete;

  const collection_facts& facts() const { return facts_; }
  sched::pe& here() const { return objects_.here; }
  pe_objects& objects() const { return objects_; }
  /// What reports call the collection: the name of its class.
  const std::string& name() const { return name_; }
  std::string describe(std::uint64_t number) const;
  /// Those bound to this one, on this PE.
  const std::vector<local_collection*>& bound() const { return bound_; }

  // ---- elements
  element_base* find(std::uint64_t number) const {
    if (!dense_.empty()) [[likely]]
      return number < dense_.size() ? dense_[number] : nullptr;  // beyond: see collection_manager::check_number
    return find_sparse(number);
  }
  const std::vector<element_base*>& local_elements() const { return local_; }
  /// Creates the elements of a dense collection that the placement puts here.
  virtual void create_initial(const constructor& make) = 0;
  /// Of a bound collection: those whose partners are here.
  virtual void create_bound(const constructor& make) = 0;
  /// The program inserts an element, here or on another PE: what the message to that PE carries; and when it was sent.
  virtual insertion_origin next_insertion() const = 0;
  virtual void insertion_begins(const insertion_origin& origin) = 0;
  /// Requests a new element of a sparse collection on this PE; the location protocol may delay or refuse it.
  virtual void insert(std::uint64_t number, constructor make, const insertion_origin& origin) = 0;
  /// Creates a single object on this PE, wherever its home is; its number was drawn by its maker, so it is new.
  virtual void begin_seed(std::uint64_t number, os::function_ref<std::unique_ptr<element_base>()> make) = 0;
  virtual void erase(element_base& element) = 0;
  virtual void migrate(element_base& element, int to) = 0;

  // ---- messages
  /// The PE to which to send a message for an element, or no_pe when the location protocol must decide (send_slowly).
  pe_number route(std::uint64_t number) const {
    if (routes_ != nullptr) [[likely]]
      return routes_[number];
    return route_sparse(number);
  }
  /// Sends a message without a known route; takes over its payload, also when it throws arena_exhausted.
  virtual void send_slowly(const sched::envelope& message) = 0;
  /// A message arrived for an element that is not here, or not reachable directly; takes over its payload.
  virtual void arrived_elsewhere(sched::envelope& message) = 0;

  // ---- broadcasts: numbered in one order for the whole collection, run in that order on every PE
  virtual void broadcast_arrived(sched::envelope& message, broadcast_function run) = 0;
  /// Numbers a broadcast that came from another host and sends it to all PEs; on the creator. Takes it over.
  virtual void number_broadcast(sched::envelope& message) = 0;
  /// Created minus destroyed here so far; summed over all PEs at the moment of one broadcast it is the population then.
  virtual std::int64_t net_created() const = 0;

  // ---- contributions
  virtual contribution_base& contribution(element_base& element,
                                          os::function_ref<std::unique_ptr<contribution_base>()> make) = 0;
  virtual void contributed(element_base& element) = 0;
  /// Where this PE, as root, collects a contribution; a fresh one has pe == no root.
  virtual root_name& contribution_root(std::uint64_t number) = 0;
  virtual void forget_contribution_root(std::uint64_t number) = 0;
  /// The PE where the contributions of this collection are combined. Only there: the number of elements that take part
  /// in one.
  int contribution_root_pe() const;
  virtual std::int64_t contributors(std::uint64_t number) const = 0;
  /// On a PE that combines the parts of its host, and of those below in a tree, for a root on another host: their sum,
  /// and the level of a sender. The check ends the job when the sender's parts are not combined here.
  virtual std::unique_ptr<contribution_base>& contribution_of_hosts(std::uint64_t number) = 0;
  virtual void check_combined_here(const sched::envelope& message) const = 0;
  virtual void level_reported(int pe, const reported_watermark& level) = 0;

 protected:
  local_collection(pe_objects& objects, const collection_facts& facts, std::string name)
      : objects_(objects), facts_(facts), name_(std::move(name)) {}
  ~local_collection() = default;

  pe_objects& objects_;
  const collection_facts facts_;
  const std::string name_;
  std::vector<element_base*> dense_;   // by number; owned
  std::vector<element_base*> local_;   // in any order
  const pe_number* routes_ = nullptr;  // dense: by number
  std::vector<local_collection*> bound_;

 private:
  virtual element_base* find_sparse(std::uint64_t number) const = 0;
  virtual pe_number route_sparse(std::uint64_t number) const = 0;
};

/// For a message from another host that creates a collection: ends the job when a field is invalid.
void check_collection_facts(sched::pe& here, const sched::envelope& message, const collection_facts& facts);

}  // namespace tri::objects

#pragma GCC visibility pop
