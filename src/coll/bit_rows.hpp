// Rows of bits, all as long: sets that are united again and again.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tri::coll {

class bit_rows {
 public:
  bit_rows(std::size_t rows, std::size_t bits) : words_((bits + 63) / 64), all_(rows * words_) {}
  void set(std::size_t row, std::size_t bit) { all_[row * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64); }
  bool has(std::size_t row, std::size_t bit) const { return (all_[row * words_ + bit / 64] >> (bit % 64) & 1) != 0; }
  void add(std::size_t row, const bit_rows& from, std::size_t from_row) {
    for (std::size_t i = 0; i < words_; ++i) all_[row * words_ + i] |= from.all_[from_row * words_ + i];
  }
  std::size_t count(std::size_t row) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < words_; ++i) found += static_cast<std::size_t>(std::popcount(all_[row * words_ + i]));
    return found;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> all_;
};

}  // namespace tri::coll
