// The account of the receiver's memory: one limit for records, buffers, and the caller's other uses. Invariant: used <=
// limit; only taken memory is given back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tri::flow {

class bounded_memory {
 public:
  explicit bounded_memory(std::uint64_t limit) : limit_(limit) {}

  bool fits(std::uint64_t bytes) const { return bytes <= limit_ - used_; }
  [[nodiscard]] bool try_take(std::uint64_t bytes) {
    if (!fits(bytes)) return false;
    used_ += bytes;
    most_used_ = std::max(most_used_, used_);
    return true;
  }
  void give_back(std::uint64_t bytes) {
    if (bytes > used_) {
      throw std::logic_error("flow control: " + std::to_string(bytes) + " bytes given back, but only " +
                             std::to_string(used_) + " are in use");
    }
    used_ -= bytes;
  }

  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t free() const { return limit_ - used_; }
  std::uint64_t most_used() const { return most_used_; }

 private:
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t most_used_ = 0;
};

}  // namespace tri::flow
