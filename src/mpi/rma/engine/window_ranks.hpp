// One rank's view of the protocols of a window: its barrier, and post / start / complete / wait. All memory of the
// window that was written before the one call in one rank is seen after the matching call in the other.
// `wait(done)` as for window_lock. One thread of the rank at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mpi/rma/engine/window_part.hpp"

namespace tri::mpi {

class window_ranks {
 public:
  /// `parts` of all ranks of the window, in order; ours is `rank`.
  window_ranks(std::vector<window_part*> parts, std::uint32_t rank)
      : parts_(std::move(parts)), rank_(rank), starts_(parts_.size(), 0) {}

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(parts_.size()); }
  window_part& part(std::uint32_t of) const { return *parts_[of]; }
  std::span<window_part* const> parts() const { return parts_; }
  window_part& own() const { return *parts_[rank_]; }

  /// Returns when all ranks have called it. Dissemination: in round k every rank is notified by the rank 2^k before it
  /// (Hensgen, Finkel, Manber 1988).
  template <class Wait>
  void barrier(Wait&& wait) {
    ++barriers_;
    std::uint32_t round = 0;
    for (std::uint32_t distance = 1; distance < size(); distance *= 2, ++round) {
      window_part& to = *parts_[(rank_ + distance) % size()];
      announce(to.arrivals[round], to);
      await(own().arrivals[round], barriers_, wait);
    }
  }

  /// The ranks of `origins` may access our memory, until each of them has completed.
  void post(std::span<const std::uint32_t> origins) {
    completions_awaited_ += static_cast<std::uint32_t>(origins.size());
    for (const std::uint32_t origin : origins) announce(parts_[origin]->posts[rank_], *parts_[origin]);
  }
  /// Returns when each of the targets has posted to us once more than we have started.
  template <class Wait>
  void start(std::span<const std::uint32_t> targets, Wait&& wait) {
    for (const std::uint32_t target : targets) await(own().posts[target], ++starts_[target], wait);
  }
  void complete(std::span<const std::uint32_t> targets) {
    for (const std::uint32_t target : targets) announce(parts_[target]->completed, *parts_[target]);
  }
  bool all_have_completed() const { return has_reached(own().completed, completions_awaited_); }
  template <class Wait>
  void wait_for_completion(Wait&& wait) {
    await(own().completed, completions_awaited_, wait);
  }

 private:
  // The counters wrap around; no rank is ever half a cycle ahead.
  static bool has_reached(const std::atomic<std::uint32_t>& counter, std::uint32_t value) {
    // acquire: the others' writes to the window's memory before they counted. pairs: window_ranks.count
    return static_cast<std::int32_t>(counter.load(std::memory_order_acquire) - value) >= 0;
  }
  static void announce(std::atomic<std::uint32_t>& counter, window_part& of) {
    endpoint& rank = *of.rank;  // the part may be gone when it has heard of us
    // acq_rel: hands over what we did, and what others did before us to a counter of several. wake() comes after it in
    // the order of the inbox's word, and a sleeper looks again after it. pairs: window_ranks.count, ticket_ring.sleep
    counter.fetch_add(1, std::memory_order_acq_rel);
    rank.inbox.wake();
  }
  template <class Wait>
  static void await(const std::atomic<std::uint32_t>& counter, std::uint32_t value, Wait&& wait) {
    wait([&] { return has_reached(counter, value); });
  }

  std::vector<window_part*> parts_;
  std::uint32_t rank_;
  std::uint32_t barriers_ = 0;
  std::uint32_t completions_awaited_ = 0;
  std::vector<std::uint32_t> starts_;  // [target]: how many posts of it were used up
};

}  // namespace tri::mpi
