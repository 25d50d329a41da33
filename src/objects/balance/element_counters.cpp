#include "objects/balance/element_counters.hpp"

namespace tri::objects {

void element_counters::charge(const element_name& element) {
  std::vector<std::uint64_t>& sums = counts_[element];
  sums.resize(names().size());
  counters_.charge(sums);
}

void element_counters::add_counts_of(const element_name& element, std::vector<std::uint64_t>& to) const {
  const auto found = counts_.find(element);
  if (found == counts_.end())
    to.resize(to.size() + names().size());
  else
    to.insert(to.end(), found->second.begin(), found->second.end());
}

}  // namespace tri::objects
