// An open arena and inboxes in plain memory, for tests of the queues without a runtime.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "arena/arena.hpp"
#include "sched/inbox.hpp"

namespace tri::sched::testing {

inline constexpr std::size_t small_window_bytes = std::size_t{64} << 20;

struct open_arena {
  explicit open_arena(std::size_t limit = 0) : file(arena::create_window_file(small_window_bytes)) {
    space.emplace(arena::arena_options{small_window_bytes, limit, arena::allocator_kind::caches},
                  std::vector<int>{file}, 0, [] {});
  }
  ~open_arena() {
    space.reset();
    close(file);
  }
  int file;
  std::optional<arena::arena_space> space;
};

struct free_memory {
  void operator()(void* memory) const { std::free(memory); }
};
inline std::unique_ptr<void, free_memory> zeroed_memory(std::size_t bytes) {
  const std::size_t rounded = (bytes + 63) / 64 * 64;
  void* const memory = std::aligned_alloc(64, rounded);
  std::memset(memory, 0, rounded);
  return std::unique_ptr<void, free_memory>(memory);
}

inline void fill(envelope& message, std::uint32_t producer, std::uint64_t number) {
  message.source = producer;
  message.element = number;
  message.collection = 0;
  message.handler = 0;
  message.bytes = 32;
  message.kind = payload_kind::direct;
  message.flags = 0;
  std::uint64_t words[4] = {number, number, number, number};
  std::memcpy(message.payload, words, sizeof words);
}

inline void push(inbox_shared& inbox, std::uint32_t producer, std::uint64_t number) {
  const inbox_slot slot = claim(inbox);
  fill(*slot.message, producer, number);
  publish(inbox, slot);
}

}  // namespace tri::sched::testing
