// Copies of boxes of elements between a tile and rows that lie one behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trireme/detail/arrays/position.hpp"

#pragma GCC visibility push(default)

namespace tri::arrays {

/// Copies a box of elements; steps in elements.
template <int N>
void copy_box(std::byte* to, const position<N>& to_strides, const std::byte* from, const position<N>& from_strides,
              const position<N>& extents, std::size_t bytes_of_element) {
  const auto bytes = static_cast<std::int64_t>(bytes_of_element);
  const std::int64_t run = extents[N - 1];
  const auto copy_rows = [&](std::byte* target, const std::byte* source, std::int64_t rows, std::int64_t target_step,
                             std::int64_t source_step) {
    if (run == 1 && bytes == 8) {  // a column: a call of memcpy for each would cost more than the copy
      for (std::int64_t row = 0; row < rows; ++row)
        std::memcpy(target + row * target_step, source + row * source_step, 8);
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row)
      std::memcpy(target + row * target_step, source + row * source_step, static_cast<std::size_t>(run * bytes));
  };
  if constexpr (N == 1) {
    copy_rows(to, from, 1, 0, 0);
  } else {
    position<N> at;
    do
      copy_rows(to + dot(at, to_strides) * bytes, from + dot(at, from_strides) * bytes, extents[N - 2],
                to_strides[N - 2] * bytes, from_strides[N - 2] * bytes);
    while (next_position(at, extents, N - 2));
  }
}

}  // namespace tri::arrays

#pragma GCC visibility pop
