// The ordered regions of one loop: its chunks take turns in the order of the iterations. A context works on one chunk
// at a time and passes the turn on before it takes another, so fewer chunks than contexts are in flight behind the
// turn, and one slot per context is enough for the waiters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace tri::omp {

template <class Lock>
class chunk_turns {
 public:
  explicit chunk_turns(std::uint32_t contexts) : waiting_(contexts, none) {}

  /// True: it is the turn of `chunk`. Otherwise `context` is queued until pass() returns it.
  bool has_turn_or_waits(std::uint64_t chunk, std::uint32_t context) {
    const std::lock_guard held(guard_);
    if (turn_ == chunk) return true;
    waiting_[chunk % waiting_.size()] = context;
    return false;
  }
  bool has_turn(std::uint64_t chunk) {
    const std::lock_guard held(guard_);
    return turn_ == chunk;
  }
  /// The chunk whose turn it is has no more ordered regions. Returns the context that waits for the next turn, if any.
  std::optional<std::uint32_t> pass() {
    const std::lock_guard held(guard_);
    ++turn_;
    std::uint32_t& next = waiting_[turn_ % waiting_.size()];
    if (next == none) return std::nullopt;
    const std::uint32_t context = next;
    next = none;
    return context;
  }

  template <class Append>
  void describe(Append&& append) const {
    append(turn_);
    for (const std::uint32_t each : waiting_) append(each);
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  Lock guard_;
  std::uint64_t turn_ = 0;
  std::vector<std::uint32_t> waiting_;  // by chunk, modulo the number of contexts
};

}  // namespace tri::omp
