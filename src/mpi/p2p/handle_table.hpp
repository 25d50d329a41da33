// Objects that one of our handles names by number, from `add` to `remove`. With the call guard.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tri::mpi {

template <class T>
class handle_table {
 public:
  std::uint32_t add(T thing) {
    const std::uint32_t slot = take();
    (*this)[slot] = std::move(thing);
    return slot;
  }
  /// A slot whose object is as constructed, or as `remove` left it.
  std::uint32_t take() {
    if (free_.empty()) [[unlikely]] {
      if (used_ % in_a_chunk == 0) chunks_.push_back(std::make_unique<chunk>());
      return used_++;
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  /// Stays where it is while others are added and removed.
  T& operator[](std::uint32_t slot) { return (*chunks_[slot / in_a_chunk])[slot % in_a_chunk]; }
  void remove(std::uint32_t slot) {
    T& thing = (*this)[slot];
    if constexpr (requires { thing.clear(); })
      thing.clear();
    else
      thing = T();
    free_.push_back(slot);
  }
  /// The same, but the caller clears the object.
  void release(std::uint32_t slot) { free_.push_back(slot); }

 private:
  static constexpr std::uint32_t in_a_chunk = 64;
  using chunk = std::array<T, in_a_chunk>;
  std::vector<std::unique_ptr<chunk>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

}  // namespace tri::mpi
