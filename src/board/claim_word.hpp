// The claim word of one participant's range: the chunks that are not claimed yet, {front:32, back:32}, half open. The
// owner takes from the front, all others from the back; front only grows and back only shrinks while a task is posted,
// so a word never has the same value twice (no ABA inside one task; between tasks the slot state prevents it, see
// slot_state.hpp). Called by any PE of any process of the host. Word is std::atomic<std::uint64_t>, or a plain
// substitute in the explorer.
#pragma once

#include <atomic>
#include <cstdint>

namespace tri::board {

// <algorithm> would be a tenth of the code that our public headers make a program compile.
constexpr std::uint32_t smaller(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

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

// The part of the remaining chunks that a claim takes: 2^-shift of them, but at least `step`. no_share: always `step`.
inline constexpr std::uint8_t no_share = 32;
struct claim_size {
  std::uint32_t step = 1;
  std::uint8_t shift = no_share;
  constexpr std::uint32_t of(std::uint32_t left) const {
    const auto share = static_cast<std::uint32_t>(std::uint64_t{left} >> shift);
    return share > step ? share : step;
  }
};

// The owner's next claim: its whole static share on arrival (the front has not moved yet), `later` afterwards.
struct owner_steps {
  std::uint32_t begin = 0;         // the front before the owner ever came
  std::uint32_t static_share = 0;  // chunks claimed in the first step
  claim_size later{};
  constexpr std::uint32_t next(chunk_span open) const {
    return open.first == begin && static_share > 0 ? static_share : later.of(open.count());
  }
};

// A thief's claim. While an owner works on its range, the chunks before `kept_before` are reserved for it, and so are
// the last ones when fewer than `least` are left: fetching their data would cost more than it saves. A range whose
// owner has not come, or left early, is open to all.
struct thief_steps {
  std::uint32_t begin = 0;  // the front before the owner ever came
  std::uint32_t kept_before = 0;
  claim_size size{};
  std::uint32_t least = 0;
  bool owner_comes = false;  // is sure to come, so it counts as present from the start
  constexpr chunk_span stealable(chunk_span open, bool owner_left) const {
    if (owner_left || (open.first == begin && !owner_comes)) return open;
    if (open.count() < least) return {};
    return {open.first > kept_before ? open.first : kept_before, open.last};
  }
};

// Claims are relaxed: they only distribute numbers, for which one modification order per word suffices. The chunks'
// data accesses are ordered by slot.open/slot.enter and slot.report, slot.leave/slot.done. The exception is an owner
// that leaves early, see may_leave.
template <class Word>
chunk_span take_front(Word& word, const owner_steps& steps) {
  std::uint64_t expected = word.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  for (;;) {
    const chunk_span open = unpack_claim(expected);
    if (open.empty()) return {};
    const std::uint32_t count = smaller(steps.next(open), open.count());
    const std::uint64_t desired = pack_claim({open.first + count, open.last});
    if (word.compare_exchange_strong(expected, desired, std::memory_order_relaxed, std::memory_order_relaxed)) {
      return {open.first, open.first + count};
    }
  }
}

template <class Word, class Flag>
chunk_span take_back(Word& word, const Flag& owner_left, const thief_steps& steps) {
  std::uint64_t expected = word.load(std::memory_order_seq_cst);  // range.left, pairs: may_leave
  for (;;) {
    const chunk_span open = unpack_claim(expected);
    if (open.empty()) return {};
    const bool left = owner_left.load(std::memory_order_seq_cst) != 0;  // range.left: after the load of the word
    const chunk_span stealable = steps.stealable(open, left);
    if (stealable.empty()) return {};
    const std::uint32_t count = smaller(steps.size.of(stealable.count()), stealable.count());
    const std::uint64_t desired = pack_claim({open.first, open.last - count});
    if (word.compare_exchange_strong(expected, desired, std::memory_order_seq_cst, std::memory_order_seq_cst)) {
      return {open.last - count, open.last};
    }
  }
}

// The owner wants to leave before its range is done. It sets its flag, then reads the range; a thief reads the range,
// then the owner's flag. All four accesses are seq_cst, so a thief that left chunks to the owner because it saw no flag
// read the range before the owner did, and the owner sees those chunks too and stays: every chunk is claimed.
// range.left, pairs: take_back.
template <class Word, class Flag>
bool may_leave(const Word& word, Flag& owner_left, const thief_steps& steps) {
  owner_left.store(1, std::memory_order_seq_cst);
  const chunk_span open = unpack_claim(word.load(std::memory_order_seq_cst));
  return steps.stealable(open, false).count() == open.count();
}

// The pool without an owner: every participant takes `step` chunks from its front, in one addition without retries.
// `expect_more`: the caller's last claim here did not reach the end; then it does not load first, which would move the
// line twice. Each participant overshoots the end at most once (afterwards it loads first, or has seen the end), so the
// front stays below 2^32 when `back + participants * step` does; check_task sees to that.
template <class Word>
chunk_span take_shared(Word& word, std::uint32_t step, bool expect_more) {
  if (!expect_more && unpack_claim(word.load(std::memory_order_relaxed)).empty()) return {};  // relaxed: a hint
  const chunk_span open = unpack_claim(word.fetch_add(step, std::memory_order_relaxed));      // relaxed: as above
  if (open.empty()) return {};
  return {open.first, open.first + smaller(step, open.count())};
}

}  // namespace tri::board
