#include "mpi/comm/communicator_hosts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace tri::mpi {

communicator_hosts find_communicator_hosts(std::span<const int> host_of, int own_rank) {
  std::unordered_map<int, std::size_t> number_of;
  std::vector<std::vector<int>> members;  // of each host
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    const auto [found, is_new] = number_of.try_emplace(host_of[rank], members.size());
    if (is_new) members.emplace_back();
    members[found->second].push_back(static_cast<int>(rank));
  }
  communicator_hosts made;
  std::vector<int> counts;
  made.place_of.resize(host_of.size());
  for (const std::vector<int>& each : members) {
    counts.push_back(static_cast<int>(each.size()));
    for (const int rank : each) {
      made.place_of[static_cast<std::size_t>(rank)] = static_cast<int>(made.rank_at.size());
      made.rank_at.push_back(rank);
    }
  }
  const bool is_even = std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) == counts.end();
  made.shape =
      is_even ? coll::shape::uniform(static_cast<int>(counts.size()), counts[0]) : coll::shape::of_table(counts);
  made.host = static_cast<int>(number_of.at(host_of[static_cast<std::size_t>(own_rank)]));
  made.are_in_order = std::ranges::is_sorted(made.rank_at);
  return made;
}

}  // namespace tri::mpi
