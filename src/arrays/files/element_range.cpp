#include "arrays/files/element_range.hpp"

namespace tri::arrays {
namespace {

std::int64_t divide_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

}  // namespace

std::int64_t elements_at_once(const array_in_file& array, std::int64_t bytes_at_once, int pes) {
  const std::span<const std::int64_t> extents(array.extents.data(), static_cast<std::size_t>(array.dimensions));
  const std::int64_t count = volume_of(extents);
  const std::int64_t most =
      std::max<std::int64_t>(std::min(bytes_at_once / array.type.bytes, divide_up(count, pes)), 1);
  std::size_t whole = extents.size();
  std::int64_t volume = 1;
  while (whole > 0 && volume * extents[whole - 1] <= most) volume *= std::max<std::int64_t>(extents[--whole], 1);
  if (whole == 0) return volume;
  std::int64_t rows = most / volume;
  const std::int64_t rows_of_tile = std::max<std::int64_t>(array.tile[whole - 1], 1);
  if (rows > rows_of_tile) rows -= rows % rows_of_tile;
  return rows * volume;
}

element_range part_of(std::int64_t count, std::int64_t unit, int pe, int pes) {
  const std::int64_t units = divide_up(count, unit);
  // Without a product of both, which might not fit.
  const auto first_of = [&](std::int64_t number) {
    return std::min((units / pes * number + units % pes * number / pes) * unit, count);
  };
  return {first_of(pe), first_of(pe + 1)};
}

}  // namespace tri::arrays
