// What was counted while methods of each element of a PE ran (M70). Used by its PE's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "objects/balance/load_counters.hpp"
#include "objects/balance/load_part.hpp"

namespace tri::objects {

class element_counters {
 public:
  /// Throws std::runtime_error with the name that cannot be counted and why.
  explicit element_counters(std::vector<std::string> names) : counters_(std::move(names)) {}

  const std::vector<std::string>& names() const { return counters_.names(); }
  /// What was counted since the last call is the element's. Throws what the sources of the counters throw.
  void charge(const element_name& element);
  /// It is of no element.
  void skip() { counters_.skip(); }
  /// Since clear(), or the beginning: appends as many as there are names.
  void add_counts_of(const element_name& element, std::vector<std::uint64_t>& to) const;
  void clear() { counts_.clear(); }

 private:
  struct hash_of_name {
    std::size_t operator()(const element_name& name) const { return static_cast<std::size_t>(hash_of(name)); }
  };
  load_counters counters_;
  std::unordered_map<element_name, std::vector<std::uint64_t>, hash_of_name> counts_;
};

}  // namespace tri::objects
