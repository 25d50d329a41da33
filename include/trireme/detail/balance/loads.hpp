// Loads of bins (PEs, NUMA nodes, hosts) and the objects in them. A load is kept as *work*: time on a PE of speed 1,
// in whole nanoseconds, so that sums are exact and do not depend on the order of moves; the time on a PE is work by
// speed. One owner, one thread.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/detail/balance/snapshot.hpp"

#pragma GCC visibility push(default)

namespace tri::balancing {

/// The work of each object of a snapshot.
std::vector<double> works_of(const snapshot& of);

/// Objects in bins. A bin has a speed and fixed work that never moves.
class load_bins {
 public:
  static constexpr std::int32_t no_bin = -1;

  /// `works` of all objects, which must outlive this. None of them is in a bin.
  load_bins(std::vector<double> speeds, std::vector<double> fixed_work, std::span<const double> works);

  std::int32_t size() const { return static_cast<std::int32_t>(speeds_.size()); }
  double speed_of(std::int32_t bin) const { return speeds_[index(bin)]; }
  double work_of(std::uint32_t object) const { return works_[object]; }
  double load_of(std::int32_t bin) const { return loads_[index(bin)]; }
  double time_of(std::int32_t bin) const { return loads_[index(bin)] / speeds_[index(bin)]; }
  /// If `work` were added, which may be negative.
  double time_with(std::int32_t bin, double work) const { return (loads_[index(bin)] + work) / speeds_[index(bin)]; }
  std::int32_t bin_of(std::uint32_t object) const { return bins_[object]; }
  /// In no particular order, but the same after the same calls.
  std::span<const std::uint32_t> objects_in(std::int32_t bin) const { return objects_[index(bin)]; }

  /// Into a bin, from that where it is; no_bin: into none.
  void put(std::uint32_t object, std::int32_t bin);
  /// Work that never moves.
  void add_fixed(std::int32_t bin, double work);

  double longest_time() const;
  /// The time of all bins if the work could be divided at will: no assignment ends sooner. Bins whose fixed work takes
  /// longer count as they are.
  double level() const;

 private:
  static std::size_t index(std::int32_t bin) { return static_cast<std::size_t>(bin); }

  std::vector<double> speeds_;
  std::vector<double> loads_;  // work, with the fixed one
  std::vector<double> fixed_;
  std::span<const double> works_;
  std::vector<std::int32_t> bins_;    // of each object
  std::vector<std::uint32_t> slots_;  // of each object: where it is in the list of its bin
  std::vector<std::vector<std::uint32_t>> objects_;
};

/// A snapshot with objects on PEs as bins: what most strategies work on. Objects that cannot migrate are fixed work of
/// their PE and in no bin.
class placement {
 public:
  /// The snapshot, which was checked, must outlive this.
  explicit placement(const snapshot& of);
  placement(const placement&) = delete;
  placement& operator=(const placement&) = delete;

  const snapshot& of() const { return of_; }
  load_bins& bins() { return bins_; }
  const load_bins& bins() const { return bins_; }
  std::span<const double> works() const { return works_; }
  std::int32_t pe_of(std::uint32_t object) const;
  /// What differs from the snapshot, in the order of the objects.
  std::vector<move> moves() const;

 private:
  const snapshot& of_;
  std::vector<double> works_;
  load_bins bins_;
};

/// Of an assignment: what a strategy is judged by.
struct quality {
  double longest_ns = 0.0;  ///< the makespan: the time of the PE that takes longest
  double level_ns = 0.0;    ///< no assignment has a shorter makespan
  std::int64_t moved_objects = 0;
  std::int64_t moved_bytes = 0;
  std::int64_t messages_between_hosts = 0;
  std::int64_t bytes_between_hosts = 0;
};

/// After the moves, which were checked.
quality quality_of(const snapshot& of, std::span<const move> moves);

/// The time of each PE after the moves, which were checked.
std::vector<double> times_of(const snapshot& of, std::span<const move> moves);

/// The PEs by host, NUMA node, cache and number: neighbours in the list share as much as can be.
std::vector<std::int32_t> pes_by_place(const snapshot& of);

}  // namespace tri::balancing

#pragma GCC visibility pop
