// Critical sections and OpenMP locks of virtual threads: a word of the program's own storage, sufficient while no
// context waits, and a table of waiting contexts by the address of the word.
//
// A released lock is free at once: a waiting context is made ready to try again, not made the owner; otherwise a lock
// could be held by a context whose carrier is busy with another. The states are those of U. Drepper, "Futexes are
// tricky", mutex 2.
//
//   free -> held -> free                                  no waiters
//   held -> contended -> free, and one waiter tries again
//
// A waiter that gets the lock leaves it contended, for there may be others: at worst one superfluous check.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace tri::omp {

inline constexpr std::uint32_t mutex_free = 0;
inline constexpr std::uint32_t mutex_held = 1;
inline constexpr std::uint32_t mutex_contended = 2;

// `Word` is std::atomic_ref<std::uint32_t>, or a plain one in tests.
template <class Word>
bool take_mutex(Word&& word) {
  std::uint32_t seen = mutex_free;
  // acquire: what the last holder wrote; relaxed on failure: nothing is read
  return word.compare_exchange_strong(seen, mutex_held, std::memory_order_acquire,  // pairs: mutex.release
                                      std::memory_order_relaxed);
}
// For one that waited before.
template <class Word>
bool take_mutex_again(Word&& word) {
  return word.exchange(mutex_contended, std::memory_order_acquire) == mutex_free;  // pairs: mutex.release
}
// True: a context may wait and must be made ready.
template <class Word>
bool release_mutex(Word&& word) {
  return word.exchange(mutex_free, std::memory_order_release) == mutex_contended;  // mutex.release
}

// The waiters for words in one part of memory, in FIFO order.
template <class Lock>
class mutex_waiters {
 public:
  /// True: the word was free meanwhile and is the context's now. Otherwise the context is queued until next() returns
  /// it.
  template <class Word>
  bool take_or_wait(Word&& word, const void* address, std::uint32_t context) {
    const std::lock_guard held(guard_);
    if (take_mutex_again(word)) return true;
    waiting_.push_back({address, context});
    return false;
  }
  /// After release_mutex returned true: the context that may try again, if any.
  std::optional<std::uint32_t> next(const void* address) {
    const std::lock_guard held(guard_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [address](const waiter& each) { return each.address == address; });
    if (found == waiting_.end()) return std::nullopt;
    const std::uint32_t context = found->context;
    waiting_.erase(found);
    return context;
  }

  template <class Append>
  void describe(Append&& append) const {
    for (const waiter& each : waiting_) append(each.context);
  }

 private:
  struct waiter {
    const void* address;
    std::uint32_t context;
  };
  Lock guard_;
  std::vector<waiter> waiting_;
};

}  // namespace tri::omp
