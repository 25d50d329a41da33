// The random choices of a PE under --tri-shuffle: which of the messages that may run does, and how long one that has
// arrived counts as not arrived yet. Each PE draws from a stream of its own, so the choices of one do not depend on how
// many another has made. Splitmix64 (Steele, Lea and Flood, 2014): the same numbers on every machine. One thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tri::sched {

class message_shuffler {
 public:
  message_shuffler(std::uint64_t seed, int pe, std::uint64_t longest_delay)
      : state_(mixed(seed) ^ mixed(~static_cast<std::uint64_t>(pe))), longest_delay_(longest_delay) {}

  /// One of 0 .. count - 1. Requires count > 0.
  std::size_t choose(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  /// When a message that came at `now` may run. One in four is late, the others are not.
  std::uint64_t due(std::uint64_t now) {
    if (longest_delay_ == 0 || next() % 4 != 0) return now;
    return now + next() % (longest_delay_ + 1);
  }
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    return mixed(state_);
  }

 private:
  static std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
  }

  std::uint64_t state_;
  std::uint64_t longest_delay_;
};

}  // namespace tri::sched
