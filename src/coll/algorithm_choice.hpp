// Which of two algorithms is cheaper, by the cost model with costs that were measured. For what runs plans: all ranks
// of a communicator come to the same answer without a message.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "coll/cost_parameters.hpp"
#include "coll/request.hpp"
#include "coll/shape.hpp"

namespace tri::coll {

/// Of one shape. The model is asked once for each pair and each power of two of bytes, which takes milliseconds. Not
/// thread-safe.
class algorithm_choice {
 public:
  /// The cost model takes longer for more ranks.
  static constexpr int most_ranks = 64;

  algorithm_choice(const shape& hosts, const cost_parameters& costs);

  /// Whether `first` is cheaper than `second`, or as cheap. Both are names of algorithms of `what` that suit, and
  /// outlive this; `bytes` are of a block or vector, in elements of `extent` bytes. Where there are more ranks than
  /// most_ranks, hosts are taken to have fewer; nothing where there are more hosts, too.
  std::optional<bool> prefers(std::string_view first, std::string_view second, collective what, std::uint64_t bytes,
                              std::uint32_t extent = 1);

 private:
  bool compare(std::string_view first, std::string_view second, collective what, std::uint64_t bytes,
               std::uint32_t extent) const;

  const cost_parameters costs_;
  std::optional<shape> hosts_;
  std::map<std::tuple<collective, std::string_view, std::string_view, std::uint64_t, std::uint32_t>, bool> known_;
};

}  // namespace tri::coll
