#include "arena/core_dump_units.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <bit>

namespace tri::arena {

core_dump_units::core_dump_units(std::byte* start, std::size_t bytes)
    : start_(start), bytes_(bytes), unit_bytes_(std::max(smallest_unit_bytes, std::bit_ceil(bytes) / most_units)) {
  madvise(start_, bytes_, MADV_DONTDUMP);
}

// The units first..last-1.
void core_dump_units::advise(std::size_t first_unit, std::size_t last_unit, bool dumped) {
  const std::size_t offset = first_unit * unit_bytes_;
  madvise(start_ + offset, std::min(last_unit * unit_bytes_, bytes_) - offset, dumped ? MADV_DODUMP : MADV_DONTDUMP);
  for (std::size_t unit = first_unit; unit < last_unit; ++unit) {
    const std::uint64_t bit = std::uint64_t{1} << (unit % 64);
    if (dumped)
      taken_in_[unit / 64] |= bit;
    else
      taken_in_[unit / 64] &= ~bit;
  }
}

void core_dump_units::take_in(const void* first, std::size_t bytes) {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(first) - start_);
  const std::size_t end = (offset + bytes + unit_bytes_ - 1) / unit_bytes_;
  for (std::size_t unit = offset / unit_bytes_; unit < end;) {
    if (is_taken_in(unit)) {
      ++unit;
      continue;
    }
    const std::size_t begin = unit;
    while (unit < end && !is_taken_in(unit)) ++unit;
    advise(begin, unit, true);
  }
}

void core_dump_units::leave_out(const void* first, std::size_t bytes) {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(first) - start_);
  const std::size_t begin = (offset + unit_bytes_ - 1) / unit_bytes_;
  const std::size_t end = (offset + bytes) / unit_bytes_;
  if (end >= begin + fewest_left_out) advise(begin, end, false);
}

std::size_t core_dump_units::dumped_bytes() const {
  std::size_t units = 0;
  for (const std::uint64_t word : taken_in_) units += static_cast<std::size_t>(std::popcount(word));
  return std::min(units * unit_bytes_, bytes_);
}

}  // namespace tri::arena
