// A set of peers, one bit each, with its count, so that the common query (is it empty?) is one comparison.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flow/packet.hpp"

namespace tri::flow {

class peer_set {
 public:
  explicit peer_set(std::size_t peers) : words_((peers + 63) / 64) {}

  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }
  bool has(peer_number peer) const { return (words_[peer / 64] >> (peer % 64) & 1) != 0; }
  void insert(peer_number peer) {
    if (has(peer)) return;
    words_[peer / 64] |= bit(peer);
    ++size_;
  }
  void erase(peer_number peer) {
    if (!has(peer)) return;
    words_[peer / 64] &= ~bit(peer);
    --size_;
  }
  /// The first member from `peer` on, round to the one before it. The set must not be empty.
  peer_number next_from(peer_number peer) const {
    std::size_t word = peer / 64;
    std::uint64_t bits = words_[word] & (~std::uint64_t{0} << (peer % 64));
    while (bits == 0) {
      word = word + 1 == words_.size() ? 0 : word + 1;
      bits = words_[word];
    }
    return static_cast<peer_number>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
  }

 private:
  static std::uint64_t bit(peer_number peer) { return std::uint64_t{1} << (peer % 64); }

  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

}  // namespace tri::flow
