// What is remembered of each loop of the program, by loop. Entries are created when a loop is first seen and never
// removed: a pointer to one stays valid. Any thread; lock-free. An object with static storage needs no constructor.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "schedules/loop_sequence.hpp"

namespace tri::omp {

template <class Memory>
class memory_table {
 public:
  struct entry {
    template <class... Arguments>
    explicit entry(const schedules::loop_key& loop, const Arguments&... arguments) : key(loop), memory(arguments...) {}
    const schedules::loop_key key;  // its number of iterations is that of the first execution
    Memory memory;
  };

  // Of the same loop, whatever its number of iterations. make() returns a std::unique_ptr<entry>, for a new loop. Null
  // when there is no room.
  template <class Make>
  Memory* find(const schedules::loop_key& key, Make&& make) {
    std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key.site);
    for (const std::uint64_t part : {key.chunk, key.variant, std::uint64_t{key.participants}})
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;  // the golden ratio, as in Fibonacci hashing
    hash >>= 40;
    std::unique_ptr<entry> made;
    for (std::size_t probe = 0; probe < probes; ++probe) {
      std::atomic<entry*>& place = entries_[(hash + probe) % entries_.size()];
      entry* there = place.load(std::memory_order_acquire);  // pairs: memory_table.publish
      if (there == nullptr) {
        if (made == nullptr) made = make();
        if (place.compare_exchange_strong(there, made.get(), std::memory_order_release,  // memory_table.publish
                                          std::memory_order_acquire)) {                  // pairs: memory_table.publish
          return &made.release()->memory;
        }
      }
      if (there->key.same_loop(key)) return &there->memory;
    }
    return nullptr;
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::atomic<entry*>& place : entries_)
      if (entry* const there = place.load(std::memory_order_acquire)) visit(*there);  // pairs: memory_table.publish
  }

 private:
  static constexpr std::size_t probes = 32;
  std::array<std::atomic<entry*>, 4096> entries_{};
};

}  // namespace tri::omp
