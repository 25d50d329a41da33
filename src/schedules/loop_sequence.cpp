#include "schedules/loop_sequence.hpp"

#include <sched.h>

#include <functional>

#include "os/cpu/cpu_hints.hpp"

namespace tri::schedules {
namespace {

constexpr std::size_t probes = 8;
constexpr int spins_before_yield = 2000;  // about 20 us: longer than an arming, unless its thread has lost its core

// Without the number of iterations: a loop whose length keeps changing must find its record.
std::size_t hash_of(const loop_key& key) {
  std::uint64_t value = reinterpret_cast<std::uintptr_t>(key.site);
  for (const std::uint64_t part : {key.chunk, key.variant, std::uint64_t{key.participants}}) {
    value = (value ^ part) * 0x9e3779b97f4a7c15u;  // the golden ratio, as in Fibonacci hashing
    value ^= value >> 29;
  }
  return static_cast<std::size_t>(value);
}

}  // namespace

loop_sequence::~loop_sequence() = default;

loop_sequence::record* loop_sequence::wait_for_successor(const record& from) {
  for (int spin = 0;; ++spin) {
    record* const next = from.successor.load(std::memory_order_acquire);  // pairs: sequence.publish
    if (next != being_armed()) return next;
    if (spin < spins_before_yield) {
      os::cpu_relax();
    } else {
      sched_yield();
    }
  }
}

bool loop_sequence::is_free(const record& each) const {
  const std::uint64_t inside = each.inside.load(std::memory_order_acquire);  // pairs: sequence.leave
  return static_cast<std::uint32_t>(inside) == 0 || static_cast<std::uint32_t>(inside >> 32) != round_;
}

loop_sequence::record* loop_sequence::choose(const loop_key& key, held_before& held) {
  const std::size_t hash = hash_of(key);
  record* chosen = nullptr;
  for (std::size_t probe = 0; probe < probes; ++probe) {
    record*& entry = table_[(hash + probe) % remembered];
    if (entry == nullptr && chosen != nullptr && chosen->key.same_loop(key)) break;
    if (entry == nullptr) {
      all_.push_back(std::make_unique<record>());
      chosen = entry = all_.back().get();
      break;
    }
    if (!is_free(*entry)) continue;
    if (entry->key == key) {
      chosen = entry;
      break;
    }
    if (chosen == nullptr || (entry->key.same_loop(key) && !chosen->key.same_loop(key))) chosen = entry;
  }
  for (std::size_t each = 0; chosen == nullptr && each < all_.size(); ++each) {
    if (is_free(*all_[each])) chosen = all_[each].get();
  }
  if (chosen == nullptr) {
    all_.push_back(std::make_unique<record>());
    chosen = all_.back().get();
  }
  held = !chosen->armed || !chosen->key.same_loop(key) ? held_before::another_loop
         : chosen->key.items != key.items              ? held_before::same_loop
                                                       : held_before::same_key;
  if (held != held_before::same_key) chosen->key = key;         // a line that the others read
  chosen->successor.store(nullptr, std::memory_order_relaxed);  // relaxed: published with the record
  chosen->inside.store(std::uint64_t{round_} << 32 | key.participants,
                       std::memory_order_relaxed);  // relaxed: as above
  return chosen;
}

}  // namespace tri::schedules
