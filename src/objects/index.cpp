#include "objects/index.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace tri::objects {

std::string describe_number(const array_shape& shape, std::uint64_t number) {
  if (shape.dimensions == 0) return fmt::format("[key {:#x}]", number);
  std::vector<std::int64_t> at(shape.dimensions);
  for (std::size_t d = shape.dimensions; d-- > 0;) {
    if (shape.dense) {
      at[d] = static_cast<std::int64_t>(number % shape.extent[d]);
      number /= shape.extent[d];
    } else {
      const unsigned bits = 64u / shape.dimensions;
      at[d] = bits >= 32 ? static_cast<std::int32_t>(number & 0xffffffffu)
                         : static_cast<std::int64_t>(number & ((std::uint64_t{1} << bits) - 1));
      number = bits == 64 ? 0 : number >> bits;
    }
  }
  return fmt::format("({})", fmt::join(at, ","));
}

void report_out_of_range(const array_shape& shape, const int* at) {
  throw std::out_of_range(fmt::format("index ({}) is outside of the array of {} elements (indices start at 0)",
                                      fmt::join(at, at + shape.dimensions, ","),
                                      fmt::join(shape.extent.begin(), shape.extent.begin() + shape.dimensions, " x ")));
}

void report_sparse_range(int value, int dimension, int dimensions) {
  throw std::out_of_range(
      fmt::format("index {} in dimension {} of a sparse array: with {} dimensions each index is 0..{}; use a key type "
                  "of your own for more",
                  value, dimension, dimensions, (1 << (64 / dimensions)) - 1));
}

}  // namespace tri::objects
