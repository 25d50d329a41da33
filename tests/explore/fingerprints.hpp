// How the states of a model are told apart: 128 bits of each, not the state itself, in a set that grows. Of n states
// two are taken for one with a chance of about n * n / 2^128: 10^-24 for 10^7 of them. Then one of the two is not
// explored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace tri::explore {

/// A model puts everything that decides its future into this, so that equal words are equal states: with the length of
/// whatever has no fixed one.
class fingerprint {
 public:
  using value_type = std::array<std::uint64_t, 2>;

  /// Two lanes with constants of their own. Each step of a lane is a bijection, so one different word never gets lost.
  void put(std::uint64_t word) {
    value_[0] = (value_[0] ^ word) * 0x9e3779b97f4a7c15U;
    value_[0] ^= value_[0] >> 29U;
    value_[1] = (value_[1] + word) * 0xff51afd7ed558ccdU;
    value_[1] ^= value_[1] >> 32U;
  }
  void put_bytes(std::string_view bytes) {
    put(bytes.size());
    for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data(), sizeof word);
      put(word);
    }
    for (const char byte : bytes) put(static_cast<unsigned char>(byte));
  }
  const value_type& value() const { return value_; }

 private:
  value_type value_ = {0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU};
};

/// Open addressing, linear probing, at most half full.
class fingerprint_set {
 public:
  fingerprint_set() : slots_(1024) {}

  std::size_t size() const { return size_; }
  /// False: it was there.
  bool insert(const fingerprint& of) {
    fingerprint::value_type value = of.value();
    value[0] |= 1U;  // zero is a free slot
    fingerprint::value_type& slot = slot_for(value);
    if (slot == value) return false;
    slot = value;
    if (++size_ > slots_.size() / 2) grow();
    return true;
  }

 private:
  fingerprint::value_type& slot_for(const fingerprint::value_type& value) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = value[1] & mask;
    while (slots_[at][0] != 0 && slots_[at] != value) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    const std::vector<fingerprint::value_type> old =
        std::exchange(slots_, std::vector<fingerprint::value_type>(4 * slots_.size()));
    for (const fingerprint::value_type& value : old)
      if (value[0] != 0) slot_for(value) = value;
  }

  std::vector<fingerprint::value_type> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace tri::explore
