// Who uses exposed memory (trireme/zero_copy.hpp): one word in the arena, with the sender on one side and on the other
// whoever has the reference: its receiver, or the sender's own wire on behalf of one.
//
//   exposed ---begin_use---> in_use ---end_use---> ended
//    | ^------give_back-----'
//    '---withdraw---> withdrawn
//
// The sender may change the memory when withdraw() has returned true, whatever the other side does later.
#pragma once

#include <atomic>
#include <cstdint>

namespace tri::objects {

class exposure_word {
 public:
  /// False: the sender has withdrawn it. The message with the reference has brought the memory's contents.
  bool begin_use() {
    std::uint32_t expected = exposed;
    // relaxed: the contents came before, by the message; a sender that withdraws waits for what end_use releases
    return word_.compare_exchange_strong(expected, in_use, std::memory_order_relaxed);
  }
  /// It has not been read, and may be later. release: see end_use.
  void give_back() { word_.store(exposed, std::memory_order_release); }  // pairs: exposure_word.withdraw
  /// release: all reads come before what the sender writes then. pairs: exposure_word.withdraw
  void end_use() { word_.store(ended, std::memory_order_release); }
  /// By the sender. False: it is used just now, or was until now; to be called again. acquire: see end_use. pairs:
  /// exposure_word.withdraw
  bool withdraw() {
    std::uint32_t found = word_.load(std::memory_order_acquire);
    if (found == exposed) return word_.compare_exchange_strong(found, withdrawn, std::memory_order_acquire);
    return found != in_use;
  }

 private:
  static constexpr std::uint32_t exposed = 0;
  static constexpr std::uint32_t in_use = 1;
  static constexpr std::uint32_t ended = 2;
  static constexpr std::uint32_t withdrawn = 3;
  std::atomic<std::uint32_t> word_{exposed};
};

}  // namespace tri::objects
