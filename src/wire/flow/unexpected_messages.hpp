// Messages that were recorded before a receive took them, in the order of arrival. Each costs record_bytes of the
// receiver's memory, and is one allocation of at most that size: when it goes, the memory is really free.
#pragma once

#include <cstdint>
#include <map>

#include "wire/flow/message_filter.hpp"

namespace tri::wire::flow {

struct unexpected_message {
  enum class state : std::uint8_t {
    bare,      // no buffer: the sender holds the data until a cts (it was told nctsd)
    coming,    // has a buffer, the data is on its way
    complete,  // the data is in the buffer
  };
  std::uint64_t request = 0;
  std::uint64_t bytes = 0;
  message_token receive = 0;  // matched: who gets it when the data is here
  peer_number source = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  state is = state::bare;
  bool matched = false;
};

class unexpected_messages {
 public:
  using queue = std::map<std::uint64_t, unexpected_message>;  // by place; places grow, so this is the order of arrival
  using iterator = queue::iterator;

  iterator begin() { return messages_.begin(); }
  iterator end() { return messages_.end(); }
  auto begin() const { return messages_.begin(); }
  auto end() const { return messages_.end(); }
  std::size_t size() const { return messages_.size(); }

  void add(std::uint64_t place, const unexpected_message& message) {
    messages_.emplace_hint(messages_.end(), place, message);
  }
  iterator at(std::uint64_t place) { return messages_.find(place); }
  iterator first_match(const message_filter& filter) {
    iterator one = messages_.begin();
    while (one != messages_.end() &&
           (one->second.matched || !filter.takes(one->second.source, one->second.context, one->second.tag)))
      ++one;
    return one;
  }
  /// For those who only look.
  const unexpected_message* find_match(const message_filter& filter) const {
    for (const auto& [place, one] : messages_)
      if (!one.matched && filter.takes(one.source, one.context, one.tag)) return &one;
    return nullptr;
  }
  void erase(iterator one) { messages_.erase(one); }

 private:
  queue messages_;
};

/// Node of the map (colour and three links), and what the allocator adds.
inline constexpr std::uint64_t record_bytes = 112;
static_assert(sizeof(unexpected_messages::queue::value_type) + 4 * sizeof(void*) + 16 <= record_bytes,
              "a record takes no more than is counted for it");

}  // namespace tri::wire::flow
