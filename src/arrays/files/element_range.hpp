// Elements begin..end of an array in row-major order, which is the order of files, as boxes, which is what arrays are
// asked for. Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trireme/detail/arrays/array_in_file.hpp"

namespace tri::arrays {

inline std::int64_t volume_of(std::span<const std::int64_t> extents) {
  std::int64_t volume = 1;
  for (const std::int64_t extent : extents) volume *= extent;
  return volume;
}

/// Calls f(first, last, elements of the range before the box) for at most 2 N - 1 boxes that are the range together.
template <class F>
void for_each_box(std::span<const std::int64_t> extents, std::int64_t begin, std::int64_t end, F&& f) {
  for (std::int64_t at = begin; at < end;) {
    // The box ends with all of the last dimensions, as many as begin here and fit.
    std::size_t whole = extents.size();
    std::int64_t volume = 1;
    while (whole > 0 && at % (volume * extents[whole - 1]) == 0 && volume * extents[whole - 1] <= end - at)
      volume *= extents[--whole];
    file_extents first{};
    file_extents last{};
    std::int64_t number = at / volume;
    for (std::size_t d = whole; d-- > 0; number /= extents[d]) {
      first[d] = number % extents[d];
      last[d] = first[d] + 1;
    }
    for (std::size_t d = whole; d < extents.size(); ++d) last[d] = extents[d];
    std::int64_t elements = volume;
    if (whole > 0) {
      const std::size_t d = whole - 1;
      const std::int64_t rows = std::min((end - at) / volume, extents[d] - first[d]);
      last[d] = first[d] + rows;
      elements *= rows;
    }
    f(first, last, at - begin);
    at += elements;
  }
}

/// How many elements go at once: `bytes_at_once` hold them, and there is something to do for every PE. If possible they
/// are whole rows of tiles, so that few pieces of tiles are copied. At least 1.
std::int64_t elements_at_once(const array_in_file& array, std::int64_t bytes_at_once, int pes);

/// Elements begin..end.
struct element_range {
  std::int64_t begin;
  std::int64_t end;
};
/// The range of a PE when `count` elements are divided into as equal parts as there can be of whole `unit`s.
element_range part_of(std::int64_t count, std::int64_t unit, int pe, int pes);

}  // namespace tri::arrays
