#include "sched/seeds/seed_deque.hpp"

#include <cstring>
#include <new>

#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::sched {

seed_deque::ring* seed_deque::make_ring(std::int64_t capacity) {
  auto* const made = new (arena::allocate(sizeof(ring))) ring{capacity, nullptr};
  try {
    made->cells = static_cast<cell*>(arena::allocate(static_cast<std::size_t>(capacity) * sizeof(cell)));
  } catch (...) {
    arena::release(made);
    throw;
  }
  for (std::int64_t i = 0; i < capacity; ++i) new (made->cells + i) cell;
  return made;
}

// relaxed, all words: the places decide who may use what was read, and order it. pairs: seed_deque.bottom,
// seed_deque.top
void seed_deque::write(cell& to, const envelope& seed) {
  for (int i = 0; i < words_of_seed; ++i) {
    std::uint64_t word;
    __builtin_memcpy(&word, reinterpret_cast<const std::byte*>(&seed) + sizeof word * static_cast<std::size_t>(i + 1),
                     sizeof word);
    to.words[i].store(word, std::memory_order_relaxed);
  }
}
void seed_deque::read(const cell& from, envelope& seed) {
  for (int i = 0; i < words_of_seed; ++i) {
    const std::uint64_t word = from.words[i].load(std::memory_order_relaxed);
    __builtin_memcpy(reinterpret_cast<std::byte*>(&seed) + sizeof word * static_cast<std::size_t>(i + 1), &word,
                     sizeof word);
  }
}

void seed_deque::grow(std::int64_t bottom) {
  ring* const larger = make_ring(own_ring_ == nullptr ? first_capacity_ : 2 * own_ring_->capacity);
  for (std::int64_t place = seen_top_; place < bottom; ++place) {
    envelope seed;
    read(own_ring_->at(place), seed);
    write(larger->at(place), seed);
  }
  own_ring_ = larger;
  // release: a thief reads the ring and its cells. pairs: seed_deque.ring
  ring_.store(larger, std::memory_order_release);
}

void seed_deque::push(const envelope& seed) {
  const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: only the owner writes it
  if (own_ring_ == nullptr || bottom - seen_top_ == own_ring_->capacity) [[unlikely]] {
    // acquire: the thief of the seed whose cell we write next has read it. pairs: seed_deque.top
    seen_top_ = top_.load(std::memory_order_acquire);
    if (own_ring_ == nullptr || bottom - seen_top_ == own_ring_->capacity) grow(bottom);
  }
  write(own_ring_->at(bottom), seed);
  arena::published_to_another_process();
  // seq_cst: publishes the cell (pairs: seed_deque.bottom), and before the owner's look at its bit (pairs:
  // seed_hints.bit).
  bottom_.store(bottom + 1, std::memory_order_seq_cst);
}

// Of the owner, which gives the place back first, and a thief, which has read the bottom before, at most one may miss
// the other (store buffering, as in Dekker's algorithm); for the last seed both go through the top.
bool seed_deque::pop(envelope& seed) {
  const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: only the owner writes it
  if (bottom == seen_top_) return false;                                // top is no further than bottom
  const std::int64_t last = bottom - 1;
  bottom_.store(last, std::memory_order_seq_cst);    // pairs: seed_deque.last
  seen_top_ = top_.load(std::memory_order_seq_cst);  // pairs: seed_deque.last, seed_deque.top
  bool won = seen_top_ <= last;
  if (won) read(own_ring_->at(last), seed);
  if (seen_top_ < last) return true;
  if (won) {
    std::int64_t expected = last;
    // seq_cst: in one order with the thieves' exchanges. pairs: seed_deque.top
    won = top_.compare_exchange_strong(expected, bottom, std::memory_order_seq_cst, std::memory_order_seq_cst);
  }
  seen_top_ = bottom;
  // release: as the other stores, for a thief that reads this one. pairs: seed_deque.bottom
  bottom_.store(bottom, std::memory_order_release);
  return won;
}

seed_deque::outcome seed_deque::steal(envelope& seed) {
  std::int64_t top = top_.load(std::memory_order_seq_cst);              // pairs: seed_deque.last
  const std::int64_t bottom = bottom_.load(std::memory_order_seq_cst);  // pairs: seed_deque.last, seed_deque.bottom
  if (top >= bottom) return outcome::empty;
  read(ring_.load(std::memory_order_acquire)->at(top), seed);  // pairs: seed_deque.ring
  // Success: no other PE has taken it, so its cell was not written since. seq_cst: also before the thief's look whether
  // there are more (seems_empty). pairs: seed_deque.top
  return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed)
             ? outcome::taken
             : outcome::lost;
}

}  // namespace tri::sched
