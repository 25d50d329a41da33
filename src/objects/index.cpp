#include "trireme/index.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <cstring>
#include <vector>

namespace tri::objects {

std::string fault_of_shape(const array_shape& shape) {
  unsigned char dense = 0;  // as a bool it could be neither true nor false
  std::memcpy(&dense, &shape.dense, sizeof dense);
  if (dense > 1) return fmt::format("their shape is dense or not by the byte {}, which must be 0 or 1", dense);
  if (shape.dimensions > shape.extent.size())
    return fmt::format("their shape has {} dimensions; there are at most {}", shape.dimensions, shape.extent.size());
  if (dense == 0) return {};
  const auto memory =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t most = memory / sizeof(void*);  // each PE has a table with a pointer for each element
  std::uint64_t elements = 1;
  for (std::size_t d = 0; d < shape.dimensions; ++d) {
    const std::uint64_t extent = shape.extent[d];
    if (extent == 0) return "an extent of their shape is 0";
    if (extent > most / elements)
      return fmt::format(
          "an array of {} elements needs more than the memory of this machine: for each a pointer in each "
          "PE, so at most {} fit",
          fmt::join(shape.extent.begin(), shape.extent.begin() + shape.dimensions, " x "), most);
    elements *= extent;
  }
  return {};
}

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
