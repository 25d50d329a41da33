// A bounded table of keys, each with the number of its slot: when it is full, a new key replaces the least recently
// used one. Constant work per use (hash chains and an LRU list, both of 16-bit slots); no allocation after
// construction. Owned by one predictor; one thread at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tri::flow::prediction {

template <class Key, class Hash>
class recent_table {
 public:
  using slot = std::uint16_t;
  static constexpr slot none = 0xffff;
  static constexpr std::size_t most_slots = 0xfffe;

  struct place {
    slot where;
    bool fresh;  // the key is new: the caller's data for this slot belonged to another key, or to none
  };

  explicit recent_table(std::size_t capacity) : chains_(std::bit_ceil(2 * checked(capacity)), none), slots_(capacity) {}

  // The slot of `key`, which is now the one used last.
  place use(const Key& key) {
    const slot known = find(key);
    if (known != none) {
      unlink(known);
      link_newest(known);
      return {known, false};
    }
    slot where;
    if (count_ < slots_.size()) {
      where = static_cast<slot>(count_++);
    } else {
      where = oldest_;
      unlink(where);
      leave_chain(where);
    }
    slot& chain = chain_of(key);
    slots_[where].key = key;
    slots_[where].next_in_chain = chain;
    chain = where;
    link_newest(where);
    return {where, true};
  }

  // Does not count as a use.
  slot find(const Key& key) const {
    slot at = chains_[chain_number(key)];
    while (at != none && !(slots_[at].key == key)) at = slots_[at].next_in_chain;
    return at;
  }

  const Key& key(slot where) const { return slots_[where].key; }
  std::size_t size() const { return count_; }
  std::size_t capacity() const { return slots_.size(); }
  std::size_t memory_bytes() const { return chains_.size() * sizeof(slot) + slots_.size() * sizeof(entry); }

 private:
  struct entry {
    Key key{};
    slot next_in_chain = none;
    slot older = none;
    slot newer = none;
  };

  static std::size_t checked(std::size_t capacity) {
    if (capacity == 0 || capacity > most_slots) {
      throw std::invalid_argument("a table of recent keys has 1 to " + std::to_string(most_slots) + " slots, not " +
                                  std::to_string(capacity));
    }
    return capacity;
  }

  std::size_t chain_number(const Key& key) const { return Hash{}(key) & (chains_.size() - 1); }
  slot& chain_of(const Key& key) { return chains_[chain_number(key)]; }

  void leave_chain(slot where) {
    slot* link = &chain_of(slots_[where].key);
    while (*link != where) link = &slots_[*link].next_in_chain;
    *link = slots_[where].next_in_chain;
  }

  void unlink(slot where) {
    const entry& it = slots_[where];
    (it.older == none ? oldest_ : slots_[it.older].newer) = it.newer;
    (it.newer == none ? newest_ : slots_[it.newer].older) = it.older;
  }

  void link_newest(slot where) {
    slots_[where].older = newest_;
    slots_[where].newer = none;
    (newest_ == none ? oldest_ : slots_[newest_].newer) = where;
    newest_ = where;
  }

  std::vector<slot> chains_;  // a power of two of them, at most half as many keys
  std::vector<entry> slots_;
  std::size_t count_ = 0;
  slot oldest_ = none;
  slot newest_ = none;
};

}  // namespace tri::flow::prediction
