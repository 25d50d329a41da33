// The memory that is watched: for every byte, the last accesses of each agent in its own time. Two accesses of which
// one writes and one is plain must be ordered: the later agent must have seen the earlier one's time.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "explore/interleavings.hpp"
#include "explore/watched_accesses.hpp"

namespace tri::explore {
namespace {

constexpr std::size_t capacity = std::size_t{256} << 10;

// Of each agent, how many releases it had had; a run is too short for more. Narrow, as walking through these histories
// is most of the work.
using moments = std::array<std::uint16_t, most_agents>;

struct byte_history {
  std::uint32_t run = 0;  // older ones count as empty
  bool is_released = false;
  moments plain_reads{}, plain_writes{}, atomic_reads{}, atomic_writes{};
};

struct memory {
  alignas(64) std::array<std::byte, capacity> bytes;
  std::array<byte_history, capacity> histories;
  struct block {
    std::byte* begin;
    std::size_t bytes;
    bool is_released;
  };
  std::vector<block> blocks;
  std::vector<std::pair<const std::byte*, const std::byte*>> ignored;
  std::size_t used = 0;
  std::uint32_t run = 0;
};
memory& the_memory() {
  static const auto one = std::make_unique<memory>();
  return *one;
}

byte_history& history_of(memory& all, const std::byte* at) {
  byte_history& history = all.histories[static_cast<std::size_t>(at - all.bytes.data())];
  if (history.run != all.run) {
    history = {};
    history.run = all.run;
  }
  return history;
}

std::string place(memory& all, const std::byte* at) {
  for (std::size_t i = 0; i < all.blocks.size(); ++i) {
    const auto& block = all.blocks[i];
    if (at >= block.begin && at < block.begin + block.bytes)
      return "byte " + std::to_string(at - block.begin) + " of block " + std::to_string(i) + " (of " +
             std::to_string(block.bytes) + " bytes)";
  }
  return "no block";
}

void raise(moments& to, const moments& from) {
  for (std::size_t i = 0; i < most_agents; ++i) to[i] = std::max(to[i], from[i]);
}

void watch(const void* address, std::size_t bytes, bool writes, bool is_atomic) {
  memory& all = the_memory();
  const auto* const begin = static_cast<const std::byte*>(address);
  if (begin < all.bytes.data() || begin >= all.bytes.data() + capacity || bytes == 0) return;
  if (is_ignored(address)) return;
  const auto me = static_cast<std::size_t>(agent_at_work());
  const std::uint32_t* const knows = agent_knows();
  if (knows[me] > std::numeric_limits<moments::value_type>::max()) fail("releases too often for one run");
  for (const std::byte* at = begin; at < begin + bytes; ++at) {
    byte_history& history = history_of(all, at);
    if (history.is_released) fail("uses what was given back: " + place(all, at));
    // All agents at once, as instructions for vectors do it: what is one's own is never later than what one knows.
    moments latest = history.plain_writes;
    if (writes) raise(latest, history.plain_reads);
    if (!is_atomic) raise(latest, history.atomic_writes);
    if (!is_atomic && writes) raise(latest, history.atomic_reads);
    std::uint32_t unordered = 0;
    for (std::size_t by = 0; by < most_agents; ++by) unordered |= latest[by] > knows[by] ? 1U << by : 0U;
    if (unordered != 0)
      fail(std::string(writes ? "writes" : "reads") + " what agent " + std::to_string(__builtin_ctz(unordered)) +
           " used, and nothing orders the two: " + place(all, at));
    auto& mine = is_atomic ? (writes ? history.atomic_writes : history.atomic_reads)
                           : (writes ? history.plain_writes : history.plain_reads);
    mine[me] = static_cast<moments::value_type>(knows[me]);
  }
}

}  // namespace

void begin_watching() {
  memory& all = the_memory();
  std::memset(all.bytes.data(), 0, all.used);
  all.blocks.clear();
  all.ignored.clear();
  all.used = 0;
  ++all.run;
}

void* watched_allocate(std::size_t bytes, std::size_t alignment) {
  memory& all = the_memory();
  const std::size_t at = (all.used + alignment - 1) / alignment * alignment;
  if (at + bytes > capacity) fail("the watched memory is used up");
  all.used = at + bytes;
  all.blocks.push_back({all.bytes.data() + at, bytes, false});
  return all.bytes.data() + at;
}

// The memory is not given out again in the same run, so whoever uses it is found.
void watched_release(void* address) {
  memory& all = the_memory();
  const auto found =
      std::find_if(all.blocks.begin(), all.blocks.end(), [&](const auto& block) { return block.begin == address; });
  if (found == all.blocks.end() || found->is_released) fail("gives back what it does not have");
  if (agent_is_running()) watch_plain(address, found->bytes, true);  // nobody else is still at it
  found->is_released = true;
  for (std::byte* at = found->begin; at < found->begin + found->bytes; ++at) history_of(all, at).is_released = true;
}

std::size_t watched_blocks() {
  memory& all = the_memory();
  return static_cast<std::size_t>(
      std::count_if(all.blocks.begin(), all.blocks.end(), [](const auto& block) { return !block.is_released; }));
}

void ignore(const void* address, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(address);
  the_memory().ignored.emplace_back(begin, begin + bytes);
}

bool is_ignored(const void* address) {
  for (const auto& [begin, end] : the_memory().ignored)
    if (address >= begin && address < end) return true;
  return false;
}

void watch_plain(const void* address, std::size_t bytes, bool writes) {
  watch(address, bytes, writes, false);
  if (writes) word_was_overwritten(address, bytes);
}
void watch_atomic(const void* address, std::size_t bytes, bool writes) { watch(address, bytes, writes, true); }

}  // namespace tri::explore
