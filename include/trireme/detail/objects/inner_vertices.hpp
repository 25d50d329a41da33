// Which PEs are the inner vertices of a multicast's tree, which forward it. Every tree is planned by its sender, which
// takes for each host one of the PEs with members, the one chosen least often (Mei 2012, M61). The counts are shared by
// the PEs of the sender's host. A multicast to many hosts is forwarded by some of them to the others: these too are the
// ones with that role least often.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::objects {

/// Chooses one of `candidates` (0 .. candidates - 1) and counts it; of equal ones the first from `begin` on, which is
/// different for senders that do not share the counters. `count_of(candidate)` is its std::atomic counter. Counters
/// that only choices increment never differ by more than one, as long as all are candidates.
template <class CountOf>
std::size_t choose_least_used(std::size_t candidates, CountOf&& count_of, std::size_t begin = 0) {
  for (;;) {
    std::size_t best = begin % candidates;
    // relaxed, all of them: the counts are hints about load and order nothing. The exchange fails when another thread
    // has chosen the same meanwhile; the others have only grown since we read them, so success picks a least one.
    std::uint64_t least = count_of(best).load(std::memory_order_relaxed);
    for (std::size_t step = 1; step < candidates; ++step) {
      const std::size_t candidate = (begin + step) % candidates;
      if (const std::uint64_t count = count_of(candidate).load(std::memory_order_relaxed); count < least) {
        best = candidate;
        least = count;
      }
    }
    if (count_of(best).compare_exchange_weak(least, least + 1, std::memory_order_relaxed)) return best;
  }
}

/// The tree over hosts: a vertex splits its list of hosts into this many parts, and the first host of each part
/// forwards the message to the rest of the part.
inline constexpr std::size_t most_child_hosts = 4;

/// Calls visit(first, last) for the parts of a list of `hosts`.
template <class Visit>
void for_each_part(std::size_t hosts, Visit&& visit) {
  const std::size_t parts = hosts < most_child_hosts ? hosts : most_child_hosts;
  for (std::size_t part = 0; part < parts; ++part) visit(hosts * part / parts, hosts * (part + 1) / parts);
}

/// Adds the places in a list of `hosts`, counted from `from`, that hand on to further hosts.
inline void add_inner_places(std::size_t from, std::size_t hosts, std::vector<std::size_t>& places) {
  for_each_part(hosts, [&](std::size_t first, std::size_t last) {
    if (last - first < 2) return;
    places.push_back(from + first);
    add_inner_places(from + first + 1, last - first - 1, places);
  });
}

}  // namespace tri::objects

#pragma GCC visibility pop
