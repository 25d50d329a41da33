// On which hosts the ranks of a collective are. Ranks are numbered host by host: those of host 0 first.
#pragma once

#include <span>
#include <vector>

namespace tri::coll {

class shape {
 public:
  /// Both throw std::invalid_argument where a number is below 1.
  static shape uniform(int hosts, int ranks_per_host);
  static shape of_table(std::span<const int> ranks_of_hosts);

  int hosts() const { return hosts_; }
  int ranks() const { return first_rank(hosts_); }
  int first_rank(int host) const {  // of `hosts()`: the number of ranks
    return first_.empty() ? host * ranks_per_host_ : first_[static_cast<std::size_t>(host)];
  }
  int ranks_of(int host) const { return first_rank(host + 1) - first_rank(host); }
  int host_of(int rank) const;
  int least_ranks() const { return least_ranks_; }  // of any host: so many ranks have a peer on every other host

 private:
  int hosts_ = 1;
  int ranks_per_host_ = 1;  // where first_ is empty
  int least_ranks_ = 1;
  std::vector<int> first_;  // uneven tables only: a rank of a large uniform job needs no memory for the others
};

}  // namespace tri::coll
