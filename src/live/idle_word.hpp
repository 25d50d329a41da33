// How long a thread has been idle, in one word that other processes read at any moment, also while it sleeps. While it
// works the word is the total; while it is idle the word is the moment at which its idleness would have begun if all of
// it were in one piece, with the top bit set. So one word suffices, and no two have to agree.
//
// The meter is the thread's own. It reads no clock: a thread that polls has the time at hand.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tri::live {

/// From here on idleness is shown while it lasts.
inline constexpr double long_idle_ns = 2'000;

inline constexpr std::uint64_t is_idle_bit = std::uint64_t{1} << 63;

/// Ticks of idleness until `now`, as a reader computes them.
constexpr std::uint64_t idle_ticks(std::uint64_t word, std::uint64_t now) {
  if ((word & is_idle_bit) == 0) return word;
  const std::uint64_t since = word & ~is_idle_bit;
  return now > since ? now - since : 0;  // the clocks of two cores may differ a little
}
constexpr bool is_idle(std::uint64_t word) { return (word & is_idle_bit) != 0; }

class idle_meter {
 public:
  /// Idleness shorter than `publish_after` ticks enters the word only when it is over.
  idle_meter(std::atomic<std::uint64_t>& word, std::uint64_t publish_after)
      : word_(word), publish_after_(publish_after) {}

  bool is_idle() const { return began_ != 0; }
  /// A poll has found nothing. True: from now on the word says that the thread is idle, which it did not before.
  bool nothing_found(std::uint64_t now) {
    if (began_ == 0) began_ = now;
    last_ = now;
    return !published_ && now - began_ >= publish_after_ && publish();
  }
  /// Before it sleeps. True: as above.
  bool publish() {
    if (published_ || began_ == 0) return false;
    published_ = true;
    // relaxed, here and below: the word alone matters; nothing is concluded from it about other memory
    word_.store(is_idle_bit | (began_ - total_), std::memory_order_relaxed);
    return true;
  }
  /// It found work at `now`. True: until now the word said that the thread is idle.
  bool ended(std::uint64_t now) {
    if (began_ == 0) return false;
    if (now > began_) total_ += now - began_;
    began_ = 0;
    word_.store(total_, std::memory_order_relaxed);
    return std::exchange(published_, false);
  }
  /// Of all idleness that is over, in ticks.
  std::uint64_t total() const { return total_; }
  /// When it last looked and found nothing.
  std::uint64_t last_look() const { return last_; }

 private:
  std::atomic<std::uint64_t>& word_;
  const std::uint64_t publish_after_;
  std::uint64_t total_ = 0;
  std::uint64_t began_ = 0;  // 0: it works
  std::uint64_t last_ = 0;
  bool published_ = false;
};

}  // namespace tri::live
