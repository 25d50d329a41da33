// Streams between cereal and blocks of the arena, so that an archive is written where it will be sent from and read
// where it arrived.
#pragma once

#include <algorithm>
#include <cstring>
#include <istream>
#include <ostream>
#include <streambuf>
#include <utility>

#include "arena/arena.hpp"

namespace tri::objects {

/// Collects what is written in one growing block. `take_block` hands the block over; otherwise it is released.
class archive_output : private std::streambuf, public std::ostream {
 public:
  archive_output() : std::ostream(static_cast<std::streambuf*>(this)) {}
  ~archive_output() override {
    if (block_ != nullptr) arena::release(block_);
  }
  std::size_t size() const { return size_; }
  void* take_block() {
    if (block_ == nullptr) grow(1);  // an archive of nothing still needs a block to own
    return std::exchange(block_, nullptr);
  }

 private:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    const auto more = static_cast<std::size_t>(count);
    if (more == 0) return 0;
    if (more > capacity_ - size_) grow(more);
    std::memcpy(block_ + size_, bytes, more);
    size_ += more;
    return count;
  }
  std::streambuf::int_type overflow(std::streambuf::int_type c) override {
    const char byte = std::streambuf::traits_type::to_char_type(c);
    xsputn(&byte, 1);
    return c;
  }
  void grow(std::size_t more) {
    const std::size_t wanted = std::max(size_ + more, 2 * capacity_ + 256);
    auto* const larger = static_cast<char*>(arena::allocate(wanted));
    if (block_ != nullptr) {
      std::memcpy(larger, block_, size_);
      arena::release(block_);
    }
    block_ = larger;
    capacity_ = wanted;
  }

  char* block_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Reads an archive in place.
class archive_input : private std::streambuf, public std::istream {
 public:
  archive_input(void* block, std::size_t bytes) : std::istream(static_cast<std::streambuf*>(this)) {
    auto* const first = static_cast<char*>(block);
    setg(first, first, first + bytes);
  }
};

}  // namespace tri::objects
