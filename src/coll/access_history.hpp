// The reads and writes of one buffer by byte range, to find data races. Steps are added in an order that agrees with
// "happens before"; used by the checker.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "coll/bit_rows.hpp"

namespace tri::coll {

class access_history {
 public:
  struct conflict {
    std::uint32_t step = 0;
    bool writes = false;  // what that step does
  };
  /// Step `step` touches these bytes; row `step` of `before` has the steps that happen before it. Returns an earlier
  /// step that conflicts with it and is not among them. Those before a write need not be remembered: what is ordered
  /// after the write is ordered after them.
  std::optional<conflict> read(std::uint64_t begin, std::uint64_t end, std::uint32_t step, const bit_rows& before);
  std::optional<conflict> write(std::uint64_t begin, std::uint64_t end, std::uint32_t step, const bit_rows& before);

 private:
  struct record {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t step = 0;
  };
  using writes_iterator = std::vector<record>::iterator;
  std::pair<writes_iterator, writes_iterator> written(std::uint64_t begin, std::uint64_t end);

  std::vector<record> writes_;  // the last of each byte, by place
  std::vector<record> reads_;   // since then
};

}  // namespace tri::coll
