// The addresses of remote array memory that one host has come to know (Farreras 2008, chapter 6): with an address and
// its key a get or put is an access of the network adapter, without any work of the target's processor. A hash table
// with a fixed number of entries; the least recently used one makes room. A pure state machine: replies and
// invalidations in, acknowledgements out; its memory does not depend on the number of hosts, but for a word for each
// that has invalidated something. One thread at a time. One cache for each transport.
//
// Invariant: an entry that can be found is valid at the target, and stays valid until this host has acknowledged its
// invalidation. It acknowledges when no operation uses the entry. The README says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "arrays/addresses/address_messages.hpp"

namespace tri::arrays {

struct address_key {
  array_handle array = 0;
  host_number host = 0;
  chunk_number chunk = 0;

  bool operator==(const address_key&) const = default;
};

enum class remote_access : std::uint8_t { get, put };

struct address_cache_options {
  std::size_t most_entries = 100;
  bool is_on = true;
  bool caches_puts = true;  // false: puts use the ordinary path, for transports where that is faster
  /// The address is used by no operation, and by no later one unless it comes again. Does not call the cache.
  std::function<void(const address_key&, const remote_address&)> dropped = {};
};

using cache_entry_number = std::uint32_t;

/// An operation may use the address until it ends the use of the entry.
struct address_use {
  remote_address where;
  cache_entry_number entry = 0;
};

class address_cache {
 public:
  struct counters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t insertions = 0;
    std::uint64_t evictions = 0;      // silent: the target learns nothing of them
    std::uint64_t invalidations = 0;  // messages, also those about entries that were not here
    std::uint64_t late_replies = 0;   // their address came behind a later invalidation, and was not taken
    std::uint64_t all_in_use = 0;     // addresses that found no room
  };

  explicit address_cache(std::size_t hosts, const address_cache_options& options = {});

  /// The caller ends the use when the operation is complete at the target. Nothing: a miss, or not cached by choice.
  std::optional<address_use> begin_use(const address_key& key, remote_access access) {
    if (!wants_address(access)) return std::nullopt;
    const cache_entry_number found = slots_[slot_of(key)];
    if (found == none) {
      ++count_.misses;
      return std::nullopt;
    }
    ++count_.hits;
    ++entries_[found].uses;
    make_newest(found);
    return address_use{.where = entries_[found].where, .entry = found};
  }
  /// With what is to be sent: the acknowledgement of an invalidation that came during the use.
  [[nodiscard]] std::optional<outgoing_acknowledgement> end_use(cache_entry_number number);

  /// Whether a request should ask the target for the address. If not, the target need not register anything for it.
  bool wants_address(remote_access access) const { return is_on_ && (caches_puts_ || access == remote_access::get); }
  /// Whether the address was not here, and was taken.
  bool on_reply(host_number from, const reply_address& reply);
  /// The acknowledgement, if it can be sent now; otherwise end_use returns it.
  [[nodiscard]] std::optional<outgoing_acknowledgement> on_invalidation(host_number from, const invalidation& message);

  /// Off: no hits, no insertions. The entries stay and are invalidated as ever, so they are valid if it is on again.
  void turn(bool on) { is_on_ = on; }

  /// Those that can be found.
  std::size_t size() const { return size_; }
  /// Invalidated ones that operations still use.
  std::size_t leaving() const { return leaving_; }
  std::size_t most_entries() const { return entries_.size(); }
  const counters& count() const { return count_; }

  /// Calls visit(key, address, uses) for each entry that can be found, the most recently used first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (cache_entry_number i = newest_; i != none; i = entries_[i].older)
      visit(entries_[i].key, entries_[i].where, entries_[i].uses);
  }
  /// The highest epoch that has come from this host with an invalidation.
  invalidation_epoch seen_epoch(host_number host) const {
    const auto seen = seen_.find(host);
    return seen == seen_.end() ? 0 : seen->second;
  }
  /// The entry's key, whether or not it can be found.
  const address_key& key_of(cache_entry_number number) const { return entries_[number].key; }

 private:
  static constexpr cache_entry_number none = std::numeric_limits<cache_entry_number>::max();

  struct entry {
    address_key key;
    remote_address where;
    invalidation_epoch invalidated = 0;  // leaving: what to acknowledge
    std::uint32_t uses = 0;
    cache_entry_number newer = none;
    cache_entry_number older = none;  // also the next free one
    bool is_leaving = false;
  };

  // Multiplications by odd constants spread the bits upwards; the slot is made of the upper ones.
  std::size_t home_of(const address_key& key) const {
    std::uint64_t mixed = key.array * 0x9e3779b97f4a7c15U;
    mixed ^= (std::uint64_t{key.host} << 32U | key.chunk) * 0xff51afd7ed558ccdU;
    mixed ^= mixed >> 32U;
    return static_cast<std::size_t>((mixed * 0xc2b2ae3d27d4eb4fU) >> shift_);
  }
  // The slot of the key, or the free one where it belongs. There always is a free one: the table is half full at most.
  std::size_t slot_of(const address_key& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = home_of(key);
    while (slots_[at] != none && entries_[slots_[at]].key != key) at = (at + 1) & mask;
    return at;
  }
  void make_newest(cache_entry_number number) {
    if (number == newest_) return;
    unlink(number);
    link(number);
  }
  void link(cache_entry_number number) {
    entries_[number].newer = none;
    entries_[number].older = newest_;
    (newest_ == none ? oldest_ : entries_[newest_].newer) = number;
    newest_ = number;
  }
  void unlink(cache_entry_number number) {
    const entry& of = entries_[number];
    (of.newer == none ? newest_ : entries_[of.newer].older) = of.older;
    (of.older == none ? oldest_ : entries_[of.older].newer) = of.newer;
  }
  void hide(std::size_t slot);
  void release(cache_entry_number number);
  void drop(cache_entry_number number);
  bool evict();

  std::vector<entry> entries_;
  std::vector<cache_entry_number> slots_;  // open addressing with linear probing
  std::size_t hosts_;
  std::unordered_map<host_number, invalidation_epoch> seen_;  // of hosts that have invalidated something
  unsigned shift_ = 0;
  cache_entry_number newest_ = none;
  cache_entry_number oldest_ = none;
  cache_entry_number first_free_ = none;
  std::size_t size_ = 0;
  std::size_t leaving_ = 0;
  bool is_on_;
  bool caches_puts_;
  std::function<void(const address_key&, const remote_address&)> dropped_;
  counters count_;
};

}  // namespace tri::arrays
