// Who talks to whom, without direction, each pair once: what strategies that look at communication walk along.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/detail/balance/snapshot.hpp"

namespace tri::balancing {

class traffic_graph {
 public:
  struct partner {
    std::uint32_t object;
    double weight;  // messages of both directions
  };
  explicit traffic_graph(const snapshot& of);

  std::span<const partner> partners_of(std::uint32_t object) const {
    return std::span(partners_).subspan(begins_[object], begins_[object + 1] - begins_[object]);
  }
  /// Of both ends together: twice the number of pairs.
  std::size_t ends() const { return partners_.size(); }

 private:
  std::vector<std::size_t> begins_;
  std::vector<partner> partners_;
};

}  // namespace tri::balancing
