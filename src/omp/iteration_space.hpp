// The iterations of an OpenMP loop as numbers 0 .. items - 1, and back, for the bounds of both native runtimes. All
// arithmetic is on unsigned 64-bit words, where loops down and loops to the end of a type need no special case.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace tri::omp {

struct iteration_space {
  std::uint64_t first = 0;  // value of the loop variable in iteration 0
  std::uint64_t end = 0;    // value that the native runtime would report behind the last iteration (libgomp)
  std::uint64_t step = 1;   // two's complement
  std::uint64_t items = 0;
  std::uint64_t unit = 1;  // iterations that stay together: the chunk that the program names

  // Loops are distributed in units; the last one may be shorter.
  // A division costs as much as the rest of starting a short loop, so the usual case has none.
  std::uint64_t units() const { return unit == 1 ? items : items / unit + (items % unit != 0 ? 1 : 0); }
  std::uint64_t item_of(std::uint64_t units_before) const {
    return units_before == units() ? items : units_before * unit;
  }

  std::uint64_t value_of(std::uint64_t item) const { return first + item * step; }
  // Behind `item` iterations. Not computed for the end: that may overflow the type.
  std::uint64_t end_of(std::uint64_t item) const { return item == items ? end : value_of(item); }
};

constexpr std::uint64_t steps_between(std::uint64_t distance, std::uint64_t step) {
  return distance == 0 || step == 0 ? 0 : step == 1 ? distance : (distance - 1) / step + 1;
}

// libgomp: `end` is exclusive; the sign of `step` is the direction.
inline iteration_space exclusive_space(long start, long end, long step, std::uint64_t unit) {
  const auto from = static_cast<std::uint64_t>(start);
  const auto to = static_cast<std::uint64_t>(end);
  const auto by = static_cast<std::uint64_t>(step);
  const bool runs = step > 0 ? start < end : start > end;
  if (!runs) return {from, from, by, 0, unit};
  return {from, to, by, step > 0 ? steps_between(to - from, by) : steps_between(from - to, 0 - by), unit};
}
// The same for unsigned long long, where the direction is given apart.
inline iteration_space exclusive_space(bool up, unsigned long long start, unsigned long long end,
                                       unsigned long long step, std::uint64_t unit) {
  const bool runs = up ? start < end : start > end;
  if (!runs) return {start, start, step, 0, unit};
  return {start, end, step, up ? steps_between(end - start, step) : steps_between(start - end, 0 - step), unit};
}

// libomp: `upper` is inclusive, `step` is signed and never 0. None when the loop has 2^64 iterations.
template <class Value>
std::optional<iteration_space> inclusive_space(Value lower, Value upper, std::make_signed_t<Value> step,
                                               std::uint64_t unit) {
  const auto from = static_cast<std::uint64_t>(lower);
  const auto by = static_cast<std::uint64_t>(static_cast<std::int64_t>(step));
  const bool up = step > 0;
  if (step == 0 || (up ? lower > upper : lower < upper)) return iteration_space{from, from, by, 0, unit};
  const std::uint64_t distance =
      up ? static_cast<std::uint64_t>(upper) - from : from - static_cast<std::uint64_t>(upper);
  const std::uint64_t stride = up ? by : 0 - by;
  const std::uint64_t before_last = stride == 1 ? distance : distance / stride;
  if (before_last == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  return iteration_space{from, 0, by, before_last + 1, unit};
}

}  // namespace tri::omp
