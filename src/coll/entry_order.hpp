// In which order the operations of one process enter their tables. An empty place does not say whose turn it is: where
// a later operation took it, a rank that waits for the earlier one could not enter. So each process enters those that
// share a place in their order. Then whoever adds an operation to a table has entered all before it in that place, and
// finds the place empty only when they have ended on all ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "coll/operation_table.hpp"

namespace tri::coll {

/// Of one process. Not thread-safe.
class entry_order {
 public:
  /// It will enter that table, or be given up. Once more: nothing.
  void expect(const operation_table& table, std::uint64_t operation) {
    const entry one{&table, operation};
    if (std::ranges::find(expected_, one) == expected_.end()) expected_.push_back(one);
  }
  /// False: an earlier one has to enter before it.
  bool may_enter(const operation_table& table, std::uint64_t operation) const {
    return std::ranges::none_of(expected_, [&](const entry& each) {
      return each.first == &table && each.second < operation && table.share_a_place(each.second, operation);
    });
  }
  /// It has entered, or never will.
  void remove(const operation_table& table, std::uint64_t operation) {
    std::erase(expected_, entry{&table, operation});
  }

 private:
  using entry = std::pair<const operation_table*, std::uint64_t>;
  std::vector<entry> expected_;
};

}  // namespace tri::coll
