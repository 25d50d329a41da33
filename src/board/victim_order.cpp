// For each class of distance d the PEs fall into groups that are nearer than d to each other. The class is visited
// group by group, beginning with the group after one's own, and inside a group beginning at one's own rank: with equal
// groups (group g, rank i) -> (g + c, i + k) is one to one for each fixed step, which is the staggering.
#include "board/victim_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <stdexcept>

namespace tri::board {
namespace {

struct distance_matrix {
  std::uint32_t pe_count;
  std::span<const std::uint32_t> values;
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return values[std::size_t{a} * pe_count + b]; }
};

// The group of `pe` when everything nearer than `limit` counts as together.
std::vector<std::uint32_t> group_of(const distance_matrix& distance, std::uint32_t pe, std::uint32_t limit) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t other = 0; other < distance.pe_count; ++other) {
    if (other == pe || distance(pe, other) < limit) members.push_back(other);
  }
  return members;
}

void append_class(const distance_matrix& distance, std::uint32_t pe, std::uint32_t limit,
                  std::vector<std::uint32_t>& order) {
  const std::vector<std::uint32_t> own = group_of(distance, pe, limit);
  const auto rank = static_cast<std::size_t>(std::find(own.begin(), own.end(), pe) - own.begin());
  std::set<std::uint32_t> waiting;
  for (std::uint32_t other = 0; other < distance.pe_count; ++other) {
    if (other != pe && distance(pe, other) == limit) waiting.insert(other);
  }
  while (!waiting.empty()) {
    auto next = waiting.upper_bound(own.front());  // the group after one's own, then round the ring
    for (;;) {
      if (next == waiting.end()) next = waiting.begin();
      std::vector<std::uint32_t> group;
      for (const std::uint32_t member : group_of(distance, *next, limit)) {
        if (waiting.contains(member)) group.push_back(member);
      }
      const std::uint32_t leader = *next;
      for (std::size_t k = 0; k < group.size(); ++k) {
        const std::uint32_t victim = group[(rank + k) % group.size()];
        order.push_back(victim);
        waiting.erase(victim);
      }
      if (waiting.empty()) return;
      next = waiting.upper_bound(leader);
    }
  }
}

void check_pe(std::uint32_t pe, std::uint32_t pe_count) {
  if (pe >= pe_count) throw std::invalid_argument(fmt::format("victim order of PE {}: there are {} PEs", pe, pe_count));
}

}  // namespace

std::vector<std::uint32_t> victim_order(std::uint32_t pe, std::uint32_t pe_count,
                                        std::span<const std::uint32_t> distances) {
  check_pe(pe, pe_count);
  if (distances.size() != std::size_t{pe_count} * pe_count) {
    throw std::invalid_argument(fmt::format("victim order of {} PEs needs {} distances, not {}", pe_count,
                                            std::size_t{pe_count} * pe_count, distances.size()));
  }
  const distance_matrix distance{pe_count, distances};
  std::set<std::uint32_t> classes;
  for (std::uint32_t other = 0; other < pe_count; ++other) {
    if (other != pe) classes.insert(distance(pe, other));
  }
  std::vector<std::uint32_t> order;
  order.reserve(pe_count - 1);
  for (const std::uint32_t limit : classes) append_class(distance, pe, limit, order);
  return order;
}

std::vector<std::uint32_t> ring_order(std::uint32_t pe, std::uint32_t pe_count) {
  check_pe(pe, pe_count);
  std::vector<std::uint32_t> order;
  for (std::uint32_t step = 1; step < pe_count; ++step) order.push_back((pe + step) % pe_count);
  return order;
}

}  // namespace tri::board
