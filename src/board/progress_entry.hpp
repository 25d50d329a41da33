// A PE's progress entry: the operation to call to match and move messages on behalf of that PE while it computes.
// States: free (holder 0) and held by one PE (holder = PE + 1). The holder has exclusive access to the PE's
// communication state, and may claim again (an operation that calls back into the runtime), so claims count. One per PE
// in board memory; any PE of the host may claim, under the restriction in `process`.
#pragma once

#include <atomic>
#include <cstdint>

#include "board/operation_table.hpp"

namespace tri::board {

struct alignas(64) progress_entry {
  std::atomic<std::uint32_t> holder;
  std::uint32_t depth;  // written by the holder only
  operation_id operation;
  std::int32_t process;
  std::uint64_t arguments[progress_argument_words];
};
static_assert(sizeof(progress_entry) == 64);

// One attempt; never waits.
template <class Entry>
bool try_claim(Entry& entry, std::uint32_t pe) {
  // relaxed: our own number is there only if this very PE wrote it
  if (std::uint32_t seen = entry.holder.load(std::memory_order_relaxed); seen != 0) {
    if (seen != pe + 1) return false;
    ++entry.depth;
    return true;
  }
  std::uint32_t free = 0;
  // progress.claim, pairs: progress.release
  if (!entry.holder.compare_exchange_strong(free, pe + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  entry.depth = 1;
  return true;
}

// Only by the holder, once per claim.
template <class Entry>
void release_claim(Entry& entry) {
  if (--entry.depth > 0) return;
  entry.holder.store(0, std::memory_order_release);  // progress.release, pairs: progress.claim
}

}  // namespace tri::board
