// Things that a handle of ours names by a number, from `add` to `remove`. With the call guard.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tri::mpi {

template <class T>
class place_table {
 public:
  std::uint32_t add(T thing) {
    const std::uint32_t place = take();
    (*this)[place] = std::move(thing);
    return place;
  }
  /// A place whose thing is as it was made, or as `remove` has left it.
  std::uint32_t take() {
    if (free_.empty()) [[unlikely]] {
      if (used_ % in_a_chunk == 0) chunks_.push_back(std::make_unique<chunk>());
      return used_++;
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    return place;
  }
  /// Stays where it is while others are added and removed.
  T& operator[](std::uint32_t place) { return (*chunks_[place / in_a_chunk])[place % in_a_chunk]; }
  void remove(std::uint32_t place) {
    T& thing = (*this)[place];
    if constexpr (requires { thing.clear(); })
      thing.clear();
    else
      thing = T();
    free_.push_back(place);
  }
  /// The same without the thing: the caller clears it.
  void give_back(std::uint32_t place) { free_.push_back(place); }

 private:
  static constexpr std::uint32_t in_a_chunk = 64;
  using chunk = std::array<T, in_a_chunk>;
  std::vector<std::unique_ptr<chunk>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

}  // namespace tri::mpi
