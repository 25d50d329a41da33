// Algorithms as they were published where the published text is wrong, told in our own words, and each flaw alone: all
// else is right, so that the checker has to find this one. Source of the text: Ouyang 2022, chapter 4.
#pragma once

#include <vector>

#include "coll/plan_builder.hpp"
#include "requests.hpp"

namespace tri::coll {

enum class flaw {
  none,
  // allgather by rounds
  peer_rank_by_hosts,    ///< the peer is rank host * N + local, not host * P + local
  first_round_untested,  ///< a whole round is made before the test whether there are hosts enough for one
  last_round_too_long,   ///< the last round takes N - S * local blocks, not N - S * (local + 1)
  // allgather by a ring
  last_block_kept,  ///< the loop copies out what it has before each exchange, and so never what comes last
  // allreduce by rounds
  own_rest,      ///< the sum of the first N mod S hosts is continued with the own one, not that of the host behind the
                 ///< ranges
  rest_is_input  ///< the last round exchanges the source buffer where it should the partial sum
};

enum class host_flaw {
  none,
  only_root_waits,     ///< a reduction inside a host in which ranks leave while others read their input
  leaves_do_not_copy,  ///< a scatter that ends when the last messages have come, before their ranks have their blocks
};

std::vector<plan> printed_allgather(const request& asked, flaw kept);
std::vector<plan> printed_ring_allgather(const request& asked, flaw kept);
std::vector<plan> printed_allreduce(const request& asked, flaw kept);
std::vector<plan> printed_host_reduce(const request& asked, host_flaw kept);
std::vector<plan> printed_scatter(const request& asked, host_flaw kept);

}  // namespace tri::coll
