// Random numbers that are the same on every machine and with every standard library, for experiments that must be
// repeatable: splitmix64 (Steele, Lea and Flood, 2014). One thread at a time.
#pragma once

#include <cstdint>

namespace tri::loops {

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t value = state_ += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
  }
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }  ///< in [0, 1)
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }        ///< bound > 0, far below 2^64

 private:
  std::uint64_t state_;
};

}  // namespace tri::loops
