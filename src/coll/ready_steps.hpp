// Which steps of a plan may begin: counters of dependencies that have not ended. The state of a plan that is under way;
// the plan itself stays as it is and may be run again. One owner, one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/plan.hpp"

namespace tri::coll {

class ready_steps {
 public:
  explicit ready_steps(const plan& of);

  /// Those that depend on nothing, by index.
  void begin(std::vector<std::uint32_t>& ready) const;
  /// Adds those that had waited for nothing else.
  void ended(std::uint32_t step, std::vector<std::uint32_t>& ready);
  bool all_ended() const { return left_ == 0; }
  template <class Put>
  void describe(Put&& put) const {
    put(left_);
    for (const std::uint32_t each : unmet_) put(each);
  }

 private:
  std::vector<std::uint32_t> unmet_;
  std::vector<std::uint32_t> first_successor_;  // in successors_
  std::vector<std::uint32_t> successors_;
  std::size_t left_ = 0;
};

}  // namespace tri::coll
