#include "trireme/global_lock.hpp"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "arrays/array_state.hpp"
#include "arrays/barrier_of_all.hpp"
#include "arrays/id_counters.hpp"
#include "arrays/lock_queue.hpp"
#include "arrays/outstanding_requests.hpp"
#include "objects/location/number_set.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/run.hpp"
#include "trireme/variables.hpp"

namespace tri {
namespace arrays {
namespace {

std::string describe_lock(array_id id) {
  const std::uint64_t number = number_in_partition(id);
  if (partition_of(id) == 0) return fmt::format("global lock {} of those made by all PEs", number);
  return fmt::format("global lock {} of those made by PE {}", number, partition_of(id) - 1);
}

// The job may have fewer PEs than the one before its restart.
int home_of(array_id id) {
  if (partition_of(id) != 0) return static_cast<int>((partition_of(id) - 1) % static_cast<std::uint64_t>(pe_count()));
  return static_cast<int>(number_in_partition(id) % static_cast<std::uint64_t>(pe_count()));
}

/// The locks of one PE: those that it keeps, holds, and has asked for. Used by its thread.
class lock_table {
 public:
  static lock_table& here();

  lock_table() = default;
  lock_table(const lock_table&) {}  // of the empty one that pe_local copies
  lock_table& operator=(const lock_table&) = delete;
  ~lock_table() = default;

  id_counters& ids() { return ids_; }
  std::string obstacle_to_checkpoint() const;

  // Of a PE that asks.
  std::uint64_t ask(array_id id, const promise<void>& to, bool is_end);
  void granted(std::uint64_t number);
  void refused(std::uint64_t number, const std::string& why);
  /// Throws when the lock was released meanwhile.
  void taken(std::uint64_t number);
  void abandon(std::uint64_t number);
  void release(array_id id);
  /// Throws while this PE holds it or waits for it; later requests of this PE throw.
  void end_here(array_id id);

  // Of the PE that keeps it.
  void asked(array_id id, const lock_queue::request& one);
  void released(array_id id, std::int32_t pe);

 private:
  struct own_request {
    array_id id;
    promise<void> to;
    bool is_end;
    bool is_granted = false;
    bool is_abandoned = false;
  };
  /// By partition.
  using set_of_locks = std::map<std::uint64_t, objects::number_set>;
  static bool has(const set_of_locks& locks, array_id id);
  static void add(set_of_locks& locks, array_id id) { locks[partition_of(id)].insert(number_in_partition(id)); }
  void give(array_id id, lock_queue& queue);
  std::string describe_waiting() const;

  bool reports_ = false;  // to the stall report
  id_counters ids_;
  std::uint64_t numbers_ = 0;
  std::unordered_map<std::uint64_t, own_request> requests_;  // until they are taken
  std::unordered_map<array_id, std::uint64_t> held_;         // by which request
  set_of_locks freed_;                                       // by this PE's program; other PEs may not have come to it
  std::unordered_map<array_id, lock_queue> queues_;          // that are not empty
  set_of_locks ended_;                                       // of those that this PE keeps
};

const bool is_in_checkpoints = register_states();  // NOLINT(cert-err58-cpp): before main
pe_local<lock_table> table;  // NOLINT(cert-err58-cpp): registration before main, as of all variables of a PE

lock_table& lock_table::here() {
  lock_table& found = *table;
  if (!std::exchange(found.reports_, true))
    objects::pe_objects::of(sched::this_pe()).report_waiting([&found] { return found.describe_waiting(); });
  return found;
}

std::string lock_table::describe_waiting() const {
  std::string text;
  for (const auto& [id, queue] : queues_)
    if (queue.waiting() != 0)
      text += fmt::format("\n  PE {}: {} requests wait for {}, which PE {} holds", this_pe(), queue.waiting(),
                          describe_lock(id), queue.holder().pe);
  return text;
}

std::string lock_table::obstacle_to_checkpoint() const {
  if (!held_.empty())
    return fmt::format("{} is held by PE {}; release it before", describe_lock(held_.begin()->first), this_pe());
  for (const auto& [number, one] : requests_)
    return fmt::format("PE {} has asked for {} and not taken it yet", this_pe(), describe_lock(one.id));
  return {};
}

// ---- messages

void lock_granted(std::uint64_t number) { lock_table::here().granted(number); }
void lock_refused(std::uint64_t number, const std::string& why) { lock_table::here().refused(number, why); }
void lock_asked(array_id id, std::int32_t pe, std::uint64_t number, bool is_end) {
  lock_table::here().asked(id, {pe, number, is_end});
}
void lock_released(array_id id, std::int32_t pe) { lock_table::here().released(id, pe); }

// ---- of a PE that asks

bool lock_table::has(const set_of_locks& locks, array_id id) {
  const auto found = locks.find(partition_of(id));
  return found != locks.end() && found->second.contains(number_in_partition(id));
}

std::uint64_t lock_table::ask(array_id id, const promise<void>& to, bool is_end) {
  if (!is_end && has(freed_, id)) throw std::logic_error(describe_lock(id) + " was freed");
  const std::uint64_t number = ++numbers_;
  requests_.emplace(number, own_request{id, to, is_end});
  tri::send<&lock_asked>(home_of(id), id, static_cast<std::int32_t>(this_pe()), number, is_end);
  return number;
}

void lock_table::granted(std::uint64_t number) {
  const auto found = requests_.find(number);
  if (found == requests_.end()) refuse(fmt::format("a lock was granted to request {}, which none has", number));
  found->second.is_granted = true;
  const own_request one = found->second;  // what waits for it may go on within `complete`, and ask for locks
  if (one.is_end || one.is_abandoned) requests_.erase(found);
  if (!one.is_end) held_.emplace(one.id, number);
  if (one.is_abandoned) return release(one.id);
  complete(one.to, nullptr);
}

void lock_table::refused(std::uint64_t number, const std::string& why) {
  const auto found = requests_.find(number);
  if (found == requests_.end()) return;
  const own_request one = found->second;
  requests_.erase(found);
  if (!one.is_abandoned) complete(one.to, std::make_exception_ptr(remote_error(why)));
}

void lock_table::taken(std::uint64_t number) {
  if (requests_.erase(number) == 0)
    throw std::logic_error("global lock: it was released before this request for it was taken");
}

void lock_table::abandon(std::uint64_t number) {
  const auto found = requests_.find(number);
  if (found == requests_.end()) return;  // refused, or released
  if (!found->second.is_granted) {
    found->second.is_abandoned = true;
    return;
  }
  release(found->second.id);
}

// In turn: a free of all that is called later must not overtake it. Ends the request, too, by which it is held: one
// that was not taken must not release it again, when others of this PE may have it.
void lock_table::release(array_id id) {
  const auto found = held_.find(id);
  if (found == held_.end())
    throw std::logic_error(fmt::format("{} is not held by PE {}, which releases it", describe_lock(id), this_pe()));
  requests_.erase(found->second);
  held_.erase(found);
  outstanding_requests::here().fence_in_turn(
      [id, pe = static_cast<std::int32_t>(this_pe())] { tri::send<&lock_released>(home_of(id), id, pe); });
}

void lock_table::end_here(array_id id) {
  if (has(freed_, id)) throw std::logic_error(describe_lock(id) + " was freed");
  if (held_.contains(id))
    throw std::logic_error(fmt::format("{} is freed while PE {} holds it", describe_lock(id), this_pe()));
  for (const auto& [number, one] : requests_)
    if (one.id == id && !one.is_abandoned)
      throw std::logic_error(fmt::format("{} is freed while PE {} waits for it", describe_lock(id), this_pe()));
  add(freed_, id);
}

// ---- of the PE that keeps it

void lock_table::asked(array_id id, const lock_queue::request& one) {
  if (has(ended_, id) && !one.is_end)
    return tri::send<&lock_refused>(one.pe, one.number, describe_lock(id) + " was freed");
  lock_queue& queue = queues_[id];
  if (queue.ask(one)) give(id, queue);
}

void lock_table::released(array_id id, std::int32_t pe) {
  const auto found = queues_.find(id);
  if (found == queues_.end() || found->second.holder().pe != pe)
    refuse(fmt::format("{} was released by PE {}, which does not hold it", describe_lock(id), pe));
  if (found->second.release())
    give(id, found->second);
  else
    queues_.erase(found);
}

// To its holder, which has not heard of it yet.
void lock_table::give(array_id id, lock_queue& queue) {
  const lock_queue::request holder = queue.holder();
  if (holder.is_end) {
    add(ended_, id);
    auto behind = queue.take_all();
    behind.pop_front();
    queues_.erase(id);
    for (const lock_queue::request& one : behind)
      tri::send<&lock_refused>(one.pe, one.number, describe_lock(id) + " was freed");
  }
  tri::send<&lock_granted>(holder.pe, holder.number);
}

struct lock_free : objects::team_barrier {
  static std::string name() { return "free of a global lock"; }
};

void check_names_one(array_id id) {
  if (id == 0) throw std::logic_error("global lock: this handle names no lock");
}

/// The job ends: messages are dropped, and nothing is held.
bool is_over() {
  return sched::detail::this_pe == nullptr || objects::pe_objects::of(*sched::detail::this_pe).is_ending();
}

}  // namespace

std::string obstacle_of_locks() { return lock_table::here().obstacle_to_checkpoint(); }
id_counters& ids_of_locks() { return lock_table::here().ids(); }
}  // namespace arrays

global_lock global_lock::made_by_all() { return global_lock(arrays::lock_table::here().ids().next_of_all()); }
global_lock global_lock::made_alone() { return global_lock(arrays::lock_table::here().ids().next_of(this_pe())); }

int global_lock::home() const {
  arrays::check_names_one(id_);
  return arrays::home_of(id_);
}

lock_request global_lock::acquire() const {
  arrays::check_names_one(id_);
  future<void> granted;
  const std::uint64_t number = arrays::lock_table::here().ask(id_, granted.get_promise(), false);
  return {*this, number, std::move(granted)};
}

void global_lock::release() const {
  arrays::check_names_one(id_);
  arrays::lock_table::here().release(id_);
}

future<void> global_lock::free() const {
  arrays::check_names_one(id_);
  arrays::lock_table::here().end_here(id_);
  future<void> result;
  const auto end = [id = id_, to = result.get_promise()] { arrays::lock_table::here().ask(id, to, true); };
  auto& outstanding = arrays::outstanding_requests::here();
  if (arrays::partition_of(id_) != 0) {
    outstanding.fence_in_turn(end);
    return result;
  }
  outstanding.fence_in_turn([end, id = id_, to = result.get_promise()] {
    arrays::at_barrier<arrays::lock_free>([end, id, to](const std::exception_ptr& error) {
      if (error == nullptr && arrays::home_of(id) == this_pe())
        end();
      else
        arrays::complete(to, error);
    });
  });
  return result;
}

void lock_guard::end() noexcept {
  if (!held_ || arrays::is_over()) return;
  try {
    held_.release();
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void lock_request::forget() const { arrays::lock_table::here().taken(number_); }
void lock_request::abandon() const noexcept {
  if (arrays::is_over()) return;
  try {
    arrays::lock_table::here().abandon(number_);
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

}  // namespace tri
