#include "coll/algorithm_choice.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/cost_model.hpp"

namespace tri::coll {

algorithm_choice::algorithm_choice(const shape& hosts, const cost_parameters& costs) : costs_(costs) {
  if (hosts.ranks() <= most_ranks)
    hosts_ = hosts;
  else if (hosts.hosts() <= most_ranks)
    hosts_ = shape::uniform(hosts.hosts(), std::min(hosts.least_ranks(), most_ranks / hosts.hosts()));
}

std::optional<bool> algorithm_choice::prefers(std::string_view first, std::string_view second, collective what,
                                              std::uint64_t bytes, std::uint32_t extent) {
  if (!hosts_) return {};
  const std::uint64_t rounded = std::bit_ceil(bytes);
  const auto [found, is_new] = known_.try_emplace({what, first, second, rounded, extent}, false);
  if (is_new) found->second = compare(first, second, what, rounded, extent);
  return found->second;
}

bool algorithm_choice::compare(std::string_view first, std::string_view second, collective what, std::uint64_t bytes,
                               std::uint32_t extent) const {
  request asked;
  asked.what = what;
  asked.hosts = *hosts_;
  asked.extent = extent;
  asked.blocks = block_layout::uniform((bytes + extent - 1) / extent);
  asked.commutative = false;
  const auto time_of = [&](std::string_view name) {
    return cost_of(asked, generate_all(algorithm_of(asked, name), asked), costs_).time;
  };
  return time_of(first) <= time_of(second);
}

}  // namespace tri::coll
