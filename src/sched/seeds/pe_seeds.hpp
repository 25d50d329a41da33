// One PE's part in seed balancing: its own seeds, those of the other PEs of its host, and the requests of PEs of other
// hosts. A seed is a message that creates an object and may begin on any PE; it counts as sent from the push to the end
// of its handler, so quiescence waits for it wherever it is. Used by the PE's thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/ordered_queue.hpp"
#include "sched/seeds/seed_deque.hpp"
#include "sched/seeds/seed_hints.hpp"
#include "sched/seeds/seed_requests.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::sched {

class pe;
class process_runtime;

class pe_seeds {
 public:
  pe_seeds(pe& here, process_runtime& job);

  /// Makes a seed of this PE; its handler is the one that begins it (seed.hpp). May throw arena_exhausted: then it was
  /// not made.
  void push(const envelope& seed);
  /// The seed to begin next: this PE's newest, else the oldest of another PE of the host. False: none was found.
  bool take(envelope& seed);
  /// This PE's newest, of those with a priority the first.
  bool take_own(envelope& seed) {
    if (has_ordered_) [[unlikely]]
      return take_first(seed);
    return own_.pop(seed);
  }
  /// Whether take() may find one. A PE that goes to sleep calls the other, after it has announced that.
  bool seem_to_exist() const { return bits_.any(); }
  bool exist_before_sleep();

  /// This PE has nothing to do: asks PEs of other hosts, if there may be seeds that it has not asked for.
  void starve() {
    if (requests_.may_ask() && hints_.in_use()) [[unlikely]]
      ask();
  }
  void asked_by(int other);
  /// A seed that another PE has sent becomes one of this PE.
  void arrived(const envelope& seed);
  void in_use_elsewhere() { static_cast<void>(hints_.begin_use()); }
  /// For a PE that has taken a seed and is about to begin it: some of the others go to those that have asked.
  void give() {
    if (requests_.is_asked()) [[unlikely]]
      give_all_but(0);
  }

 private:
  void push_to_deque(const envelope& seed);
  void push_in_order(const envelope& seed);
  bool take_first(envelope& seed);
  void show_first();
  bool steal(envelope& seed);
  bool steal_from(int host_pe, envelope& seed);
  bool is_empty(int host_pe) { return deque_of(host_pe).seems_empty(); }
  seed_deque& deque_of(int host_pe) { return *deques_[static_cast<std::size_t>(host_pe)]; }
  bool clear_if_empty(int host_pe);
  void announce_use();
  void wake_another() const;
  void ask();
  void give_all_but(std::int64_t kept);
  std::int64_t send_own(int asker, std::int64_t count);
  void send(int asker, envelope& seed);

  pe& here_;
  process_runtime& job_;
  const int host_pe_;  // this PE, counted on its host
  seed_hints& hints_;
  seed_hints::view bits_;
  std::vector<seed_deque*> deques_;  // of the PEs of the host
  seed_deque& own_;
  /// Seeds with a priority, but for the first few, which are in the deque so that others find them.
  ordered_queue ordered_;
  bool has_ordered_ = false;  // ordered_ is not empty, or the deque may have one that came from it
  seed_requests requests_;
};

}  // namespace tri::sched
