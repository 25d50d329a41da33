// The progress of a PE's elements with their contributions (host_contributions.hpp); sent with messages.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace tri::objects {

/// Level of a PE without elements.
inline constexpr std::uint64_t no_level = ~std::uint64_t{0};

/// A PE's report of its level. Parts that are immediate messages overtake others, so reports are numbered.
struct reported_watermark {
  std::uint64_t level = no_level;
  std::uint64_t number = 0;
};

}  // namespace tri::objects

#pragma GCC visibility pop
