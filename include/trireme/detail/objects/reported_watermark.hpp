// How far the elements of a PE have come with their contributions (host_contributions.hpp); goes with messages.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace tri::objects {

/// Level of a PE without elements.
inline constexpr std::uint64_t no_level = ~std::uint64_t{0};

/// What a PE says of its level. Parts that are immediate messages pass others, so what it says is numbered.
struct reported_watermark {
  std::uint64_t level = no_level;
  std::uint64_t number = 0;
};

}  // namespace tri::objects

#pragma GCC visibility pop
