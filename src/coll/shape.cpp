#include "coll/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace tri::coll {

shape shape::uniform(int hosts, int ranks_per_host) {
  if (hosts < 1) throw std::invalid_argument(fmt::format("{} hosts; it must be 1 or more", hosts));
  if (ranks_per_host < 1)
    throw std::invalid_argument(fmt::format("{} ranks on each host; it must be 1 or more", ranks_per_host));
  if (hosts > std::numeric_limits<int>::max() / ranks_per_host)
    throw std::invalid_argument(fmt::format("{} hosts with {} ranks each are more ranks than {}", hosts, ranks_per_host,
                                            std::numeric_limits<int>::max()));
  shape made;
  made.hosts_ = hosts;
  made.ranks_per_host_ = made.least_ranks_ = ranks_per_host;
  return made;
}

shape shape::of_table(std::span<const int> ranks_of_hosts) {
  if (ranks_of_hosts.empty()) throw std::invalid_argument("the table of ranks is empty; one number for each host");
  const int least = *std::ranges::min_element(ranks_of_hosts);
  if (least == *std::ranges::max_element(ranks_of_hosts))
    return uniform(static_cast<int>(ranks_of_hosts.size()), least);
  if (least < 1) throw std::invalid_argument(fmt::format("a host with {} ranks; it must be 1 or more", least));
  shape made;
  made.hosts_ = static_cast<int>(ranks_of_hosts.size());
  made.least_ranks_ = least;
  made.first_.assign(1, 0);
  for (const int ranks : ranks_of_hosts) {
    if (ranks > std::numeric_limits<int>::max() - made.first_.back())
      throw std::invalid_argument(fmt::format("more ranks than {}", std::numeric_limits<int>::max()));
    made.first_.push_back(made.first_.back() + ranks);
  }
  return made;
}

int shape::host_of(int rank) const {
  if (first_.empty()) return rank / ranks_per_host_;
  return static_cast<int>(std::ranges::upper_bound(first_, rank) - first_.begin()) - 1;
}

}  // namespace tri::coll
