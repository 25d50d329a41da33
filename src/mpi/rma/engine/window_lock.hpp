// The lock of one rank's window, shared or exclusive, for the ranks of a host: a queue of tickets (the fair
// reader-writer lock of Mellor-Crummey and Scott, "Scalable Reader-Writer Synchronization for Shared-Memory
// Multiprocessors", 1991, in its form with counters). No rank starves. In shared memory; the window's owner takes no
// part. A rank waits the way its caller waits (an engine helps and sleeps), and is woken individually.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/engine/endpoint.hpp"

namespace tri::mpi {

class window_lock {
 public:
  /// `sleepers`: zeroed shared memory, a power of two of them, one for each rank at least. A rank holds or awaits the
  /// lock once at a time.
  void initialise(std::atomic<endpoint*>* sleepers, std::uint32_t capacity) {
    sleepers_ = sleepers;
    mask_ = capacity - 1;
  }

  /// `wait(done)` returns when `done()`, which it calls again at the latest after `self` was woken.
  template <class Wait>
  void lock_exclusive(endpoint& self, Wait&& wait) {
    const std::uint32_t ticket = take_ticket();
    wait_for(writers_turn_, ticket, self, wait);
  }
  template <class Wait>
  void lock_shared(endpoint& self, Wait&& wait) {
    const std::uint32_t ticket = take_ticket();
    wait_for(readers_turn_, ticket, self, wait);
    advance(readers_turn_);
  }
  void unlock_exclusive() {
    advance(readers_turn_);
    advance(writers_turn_);
  }
  void unlock_shared() { advance(writers_turn_); }

 private:
  // Ticket t may read when t others have entered as readers or left as writers, and write when t others have left. Only
  // holders of earlier tickets advance the counts it waits for.
  std::uint32_t take_ticket() {
    // acq_rel: the rank that had our slot in `sleepers_` a round ago removed its name before a rank waiting behind it
    // took one of the tickets in between, so our name comes after that. pairs: window_lock.slot, with itself
    return next_.fetch_add(1, std::memory_order_acq_rel);
  }
  template <class Wait>
  void wait_for(std::atomic<std::uint32_t>& turn, std::uint32_t ticket, endpoint& self, Wait&& wait) {
    if (turn.load(std::memory_order_acquire) == ticket) return;  // pairs: window_lock.turn
    std::atomic<endpoint*>& sleeper = sleepers_[ticket & mask_];
    // seq_cst, with the poll that follows: either that sees the turn or the rank that advances it sees us. pairs:
    // window_lock.sleeper
    sleeper.store(&self, std::memory_order_seq_cst);
    // pairs: window_lock.turn, window_lock.sleeper
    wait([&] { return turn.load(std::memory_order_seq_cst) == ticket; });
    // relaxed: a rank that still reads our name only wakes us needlessly; the next one of this slot comes a round
    // later. pairs: window_lock.slot
    sleeper.store(nullptr, std::memory_order_relaxed);
  }
  void advance(std::atomic<std::uint32_t>& turn) {
    // Releases all that was done under the lock, and acquires what the others did: the last of several readers hands
    // over for all of them. seq_cst: as in wait_for. pairs: window_lock.turn, window_lock.sleeper
    const std::uint32_t next = turn.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (endpoint* const sleeper = sleepers_[next & mask_].load(std::memory_order_seq_cst))  // pairs:
                                                                                            // window_lock.sleeper
      sleeper->inbox.wake();
  }

  alignas(64) std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> readers_turn_{0};
  std::atomic<std::uint32_t> writers_turn_{0};
  std::uint32_t mask_ = 0;
  std::atomic<endpoint*>* sleepers_ = nullptr;
};

}  // namespace tri::mpi
