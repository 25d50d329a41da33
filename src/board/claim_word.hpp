// The claim word of one participant's range: the chunks that nobody has taken yet, {front:32, back:32}, half open.
// The owner takes from the front, everybody else from the back; front only grows and back only shrinks while a task is
// posted, so a word never has the same value twice and a compare-exchange can not be fooled (no ABA inside one task;
// between tasks the slot state forbids it, see slot_state.hpp).
// Called by any PE of any process of the host. Word is std::atomic<std::uint64_t>, or a plain stand-in in the explorer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tri::board {

struct chunk_span {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  constexpr bool empty() const { return first >= last; }
  constexpr std::uint32_t count() const { return empty() ? 0 : last - first; }
  friend constexpr bool operator==(const chunk_span&, const chunk_span&) = default;
};

constexpr std::uint64_t pack_claim(chunk_span open) { return (std::uint64_t{open.last} << 32) | open.first; }
constexpr chunk_span unpack_claim(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
}

// What the owner takes next: its whole static share on arrival (the front has not moved yet), `step` chunks afterwards.
struct owner_steps {
  std::uint32_t begin = 0;         // the front before the owner ever came
  std::uint32_t static_share = 0;  // chunks claimed in the first step
  std::uint32_t step = 1;          // chunks of every later step
  constexpr std::uint32_t next(std::uint32_t front) const {
    return front == begin && static_share > 0 ? static_share : step;
  }
};

// All accesses are relaxed: a claim only shares out numbers, and one modification order per word is all that needs.
// What the chunks read and write is ordered by slot.open/slot.enter and slot.report, slot.leave/slot.done.
template <class Word>
chunk_span take_front(Word& word, const owner_steps& steps) {
  std::uint64_t expected = word.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  for (;;) {
    const chunk_span open = unpack_claim(expected);
    if (open.empty()) return {};
    const std::uint32_t count = std::min(steps.next(open.first), open.count());
    const std::uint64_t desired = pack_claim({open.first + count, open.last});
    if (word.compare_exchange_strong(expected, desired, std::memory_order_relaxed, std::memory_order_relaxed)) {
      return {open.first, open.first + count};
    }
  }
}

template <class Word>
chunk_span take_back(Word& word, std::uint32_t most) {
  std::uint64_t expected = word.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  for (;;) {
    const chunk_span open = unpack_claim(expected);
    if (open.empty()) return {};
    const std::uint32_t count = std::min(most, open.count());
    const std::uint64_t desired = pack_claim({open.first, open.last - count});
    if (word.compare_exchange_strong(expected, desired, std::memory_order_relaxed, std::memory_order_relaxed)) {
      return {open.last - count, open.last};
    }
  }
}

}  // namespace tri::board
