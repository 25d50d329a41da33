// Things that a handle of ours names by a number, from `add` to `remove`. With the call guard.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace tri::mpi {

template <class T>
class place_table {
 public:
  std::uint32_t add(T thing) {
    if (free_.empty()) {
      things_.push_back(std::move(thing));
      return static_cast<std::uint32_t>(things_.size() - 1);
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    things_[place] = std::move(thing);
    return place;
  }
  /// Stays where it is while others are added and removed.
  T& operator[](std::uint32_t place) { return things_[place]; }
  T remove(std::uint32_t place) {
    free_.push_back(place);
    return std::exchange(things_[place], T());
  }

 private:
  std::deque<T> things_;
  std::vector<std::uint32_t> free_;
};

}  // namespace tri::mpi
