// What an element says about its own load, for balancing: the parameter of the optional member `describe_load`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#pragma GCC visibility push(default)

namespace tri {

/// Filled by `void describe_load(tri::load_description&)` of a class of elements, which is called for each element
/// whenever its loads are collected. What is not set is as it was measured. Used by one PE's thread.
class load_description {
 public:
  /// The load until the next balancing, in nanoseconds on a usual PE, in place of the measured one. Throws
  /// std::invalid_argument for a negative one.
  void load_ns(std::int64_t predicted);
  /// Where the element is in space, one to three numbers: for strategies that keep neighbours together. All elements
  /// must give as many. Dense arrays of up to three dimensions need not: their indices are taken. Throws
  /// std::invalid_argument for another number of them, or values that are not finite.
  void coordinates(std::span<const double> position);
  /// Any bytes, for strategies of the program's own.
  void user_data(std::span<const std::byte> bytes);
  /// Bytes that a migration of the element sends.
  void bytes(std::int64_t size);
  /// The element stays where it is; its load counts there.
  void stays() { set_.stays = true; }

  struct contents {
    std::optional<std::int64_t> load_ns;
    std::int64_t bytes = 0;
    std::vector<double> coordinates;
    std::vector<std::byte> user_data;
    bool stays = false;
  };
  contents take();

 private:
  contents set_;
};

}  // namespace tri

#pragma GCC visibility pop
