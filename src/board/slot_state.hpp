// The state word of a task slot: {finished chunks:32, open:1, inside:31}. It decides which PEs may read the slot and
// when its memory may be rewritten. Named states: closed (open = 0), open (open = 1), and open with participants
// inside.
//
//   recycle   poster   any, inside = 0  -> closed, 0 finished. Fails while a helper is inside.
//   open      poster   closed           -> open
//   announce  helper   inside + 1, and returns whether the slot was open. If not, withdraw: nothing was read.
//   report    helper   finished + n, staying inside
//   leave     helper   inside - 1 and finished + n, in one step
//
// A helper reads the slot only between a successful announce and leave, and carries no state over from before, so there
// are no stale pointers: it always enters the current task. A finished task stays open until its slot is recycled: a
// late helper finds every range empty and leaves. `finished == all` means that every chunk was claimed and has run, so
// helpers still inside will find none. Hence the poster never waits for an idle helper that was descheduled inside; it
// takes another slot. Several helpers may be in a withdrawn announce at any time, so the word is only changed by
// additions once it is shared, never by a store.
#pragma once

#include <atomic>
#include <cstdint>

namespace tri::board {

inline constexpr std::uint64_t slot_open_bit = std::uint64_t{1} << 31;
inline constexpr std::uint64_t slot_inside_mask = slot_open_bit - 1;

constexpr std::uint64_t slot_inside(std::uint64_t state) { return state & slot_inside_mask; }
constexpr bool slot_is_open(std::uint64_t state) { return (state & slot_open_bit) != 0; }
constexpr std::uint32_t slot_finished(std::uint64_t state) { return static_cast<std::uint32_t>(state >> 32); }

template <class Word>
bool recycle_slot(Word& state) {
  std::uint64_t value = state.load(std::memory_order_relaxed);  // relaxed: the exchange below decides
  if (slot_inside(value) != 0) return false;
  // pairs: slot.leave. All reads of former participants in the slot happen before the poster's next writes.
  return state.compare_exchange_strong(value, 0, std::memory_order_acquire, std::memory_order_relaxed);
}

template <class Word>
void open_slot(Word& state) {
  state.fetch_add(slot_open_bit, std::memory_order_release);  // pairs: slot.enter
}

// True: inside an open task. False: closed, and withdraw_from_slot must follow.
template <class Word>
bool announce_in_slot(Word& state) {
  return slot_is_open(state.fetch_add(1, std::memory_order_acquire));  // slot.enter, pairs: slot.open
}

template <class Word>
void withdraw_from_slot(Word& state) {
  state.fetch_sub(1, std::memory_order_relaxed);  // relaxed: nothing was read or written inside
}

// Only with chunks that are finished and not added yet.
template <class Word>
void report_in_slot(Word& state, std::uint32_t finished_chunks) {
  state.fetch_add(std::uint64_t{finished_chunks} << 32, std::memory_order_release);  // slot.report, pairs: slot.done
}

template <class Word>
void leave_slot(Word& state, std::uint32_t finished_chunks) {
  // slot.leave, pairs: slot.done and recycle_slot. One addition: inside - 1, finished + n.
  state.fetch_add((std::uint64_t{finished_chunks} << 32) - 1, std::memory_order_release);
}

// Chunks finished by all but the poster, which counts its own without touching this line.
template <class Word>
std::uint32_t finished_in_slot(const Word& state) {
  return slot_finished(state.load(std::memory_order_acquire));  // slot.done, pairs: slot.leave, slot.report
}

}  // namespace tri::board
