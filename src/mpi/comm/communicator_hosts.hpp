// Where the members of a communicator that spans hosts are: what its collectives need
// (coll/hosts/collectives_across_hosts).
#pragma once

#include <span>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/shape.hpp"

namespace tri::mpi {

struct communicator_hosts {
  coll::shape shape;          ///< hosts in the order of their first members
  std::vector<int> place_of;  ///< of each rank: its number in the shape, host by host
  std::vector<int> rank_at;   ///< the other way round
  int host = 0;               ///< of the calling process
  bool are_in_order = true;   ///< the ranks are numbered host by host: each is at its own place
  int rounds() const { return coll::most_rounds(shape.hosts()); }  ///< of a plan of its collectives, at most
  std::span<const int> ranks_here() const {
    return std::span(rank_at).subspan(static_cast<std::size_t>(shape.first_rank(host)),
                                      static_cast<std::size_t>(shape.ranks_of(host)));
  }
};

/// `host_of`: any name of the host of each rank.
communicator_hosts find_communicator_hosts(std::span<const int> host_of, int own_rank);

}  // namespace tri::mpi
