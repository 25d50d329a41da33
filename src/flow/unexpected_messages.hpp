// Messages recorded before a receive matched them, in arrival order. Each costs record_bytes of the receiver's memory,
// and is one allocation of at most that size: removing it really frees the memory. A receive that names sender and tag
// searches only one of a fixed number of bins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "flow/message_filter.hpp"

namespace tri::wire::flow {

struct unexpected_message {
  enum class state : std::uint8_t {
    bare,      // no buffer: the sender holds the data until a cts (it got nctsd)
    coming,    // has a buffer, the data is on its way
    complete,  // the data is in the buffer
  };
  std::uint64_t request = 0;
  std::uint64_t bytes = 0;
  message_token receive = 0;  // matched: the receive that gets the data
  peer_number source = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  state is = state::bare;
  bool matched = false;
  bool is_paid = false;  // record and buffer are those of a credit, not of this account
  // In its bin.
  std::pair<const std::uint64_t, unexpected_message>* next = nullptr;
  std::pair<const std::uint64_t, unexpected_message>* previous = nullptr;
};

class unexpected_messages {
 public:
  using queue = std::map<std::uint64_t, unexpected_message>;  // by place; places grow, so this is the order of arrival
  using iterator = queue::iterator;

  unexpected_messages() = default;
  unexpected_messages(const unexpected_messages& other) : messages_(other.messages_) {
    for (entry& one : messages_) append_to_bin(one);
  }
  unexpected_messages& operator=(const unexpected_messages& other) {
    if (this == &other) return *this;
    bins_ = {};
    messages_ = other.messages_;
    for (entry& one : messages_) append_to_bin(one);
    return *this;
  }

  iterator begin() { return messages_.begin(); }
  iterator end() { return messages_.end(); }
  auto begin() const { return messages_.begin(); }
  auto end() const { return messages_.end(); }
  std::size_t size() const { return messages_.size(); }

  void add(std::uint64_t place, const unexpected_message& message) {
    append_to_bin(*messages_.emplace_hint(messages_.end(), place, message));
  }
  iterator at(std::uint64_t place) { return messages_.find(place); }
  const unexpected_message* look_at(std::uint64_t place) const {
    const auto found = messages_.find(place);
    return found == messages_.end() ? nullptr : &found->second;
  }
  iterator first_match(const message_filter& filter) {
    const entry* const found = find_entry(filter);
    return found == nullptr ? messages_.end() : messages_.find(found->first);
  }
  /// For probes.
  const unexpected_message* find_match(const message_filter& filter) const {
    const entry* const found = find_entry(filter);
    return found == nullptr ? nullptr : &found->second;
  }
  void erase(iterator one) {
    const unexpected_message& gone = one->second;
    bin& of = bins_[bin_of(gone.source, gone.context, gone.tag)];
    (gone.previous == nullptr ? of.first : gone.previous->second.next) = gone.next;
    (gone.next == nullptr ? of.last : gone.next->second.previous) = gone.previous;
    messages_.erase(one);
  }

 private:
  using entry = queue::value_type;
  struct bin {
    entry* first = nullptr;
    entry* last = nullptr;
  };
  static constexpr std::size_t bins = 256;

  static std::size_t bin_of(peer_number source, std::uint32_t context, std::int32_t tag) {
    // The golden ratio spreads neighbours over the high bits.
    const std::uint64_t both = (std::uint64_t{source} << 32U | static_cast<std::uint32_t>(tag)) * 0x9e3779b97f4a7c15U;
    return (both + context * 0xd6e8feb86659fd93U) * 0x9e3779b97f4a7c15U >> 56U;
  }
  void append_to_bin(entry& one) {
    bin& of = bins_[bin_of(one.second.source, one.second.context, one.second.tag)];
    one.second.next = nullptr;
    one.second.previous = of.last;
    (of.last == nullptr ? of.first : of.last->second.next) = &one;
    of.last = &one;
  }
  const entry* find_entry(const message_filter& filter) const {
    const auto is_wanted = [&](const unexpected_message& one) {
      return !one.matched && filter.takes(one.source, one.context, one.tag);
    };
    if (filter.source != any_source && filter.tag != any_tag) {
      const entry* one = bins_[bin_of(filter.source, filter.context, filter.tag)].first;
      while (one != nullptr && !is_wanted(one->second)) one = one->second.next;
      return one;
    }
    for (const entry& one : messages_)
      if (is_wanted(one.second)) return &one;
    return nullptr;
  }

  queue messages_;
  std::array<bin, bins> bins_;
};

/// Node of the map (colour and three links), and the allocator's overhead.
inline constexpr std::uint64_t record_bytes = 112;
static_assert(sizeof(unexpected_messages::queue::value_type) + 4 * sizeof(void*) + 16 <= record_bytes,
              "a record takes no more than is counted for it");

}  // namespace tri::wire::flow
