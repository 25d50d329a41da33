// What sender and receiver of credits send each other. Credits are bytes of the receiver's pool: additions and
// subtractions only, so control messages may overtake each other and the messages they travel on; none may be lost or
// duplicated.
#pragma once

#include <cstdint>

namespace tri::flow::prediction {

// The bytes of the pool that a message of `size` uses, the same on both sides: whole cache lines, at least one, so that
// empty messages are also bounded.
constexpr std::uint64_t buffer_bytes(std::uint64_t size) {
  constexpr std::uint64_t line = 64;
  return size <= line ? line : (size + line - 1) / line * line;
}

// From the receiver, on any message that leaves for this sender, or alone.
struct credit_control {
  std::uint64_t granted = 0;   // bytes that may be sent unasked, in addition to those granted before
  std::uint64_t recalled = 0;  // bytes recalled; if not 0, the sender answers with the bytes that it still has, maybe 0
  explicit operator bool() const { return granted != 0 || recalled != 0; }
  bool operator==(const credit_control&) const = default;
};

struct credit_message {
  std::uint32_t peer = 0;
  credit_control note;
  bool operator==(const credit_message&) const = default;
};

}  // namespace tri::flow::prediction
