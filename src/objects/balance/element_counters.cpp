#include "objects/balance/element_counters.hpp"

#include "trireme/index.hpp"

namespace tri::objects {

std::size_t element_counters::hash_of_name::operator()(const element_name& name) const {
  return static_cast<std::size_t>(finalize_hash(name.number + (std::uint64_t{name.collection} << 40)));
}

void element_counters::charge(const element_name& element) {
  std::vector<std::uint64_t>& sums = counts_[element];
  sums.resize(names().size());
  counters_.charge(sums);
}

std::vector<std::uint64_t> element_counters::counts_of(const element_name& element) const {
  const auto found = counts_.find(element);
  return found == counts_.end() ? std::vector<std::uint64_t>() : found->second;
}

}  // namespace tri::objects
