// The pending send queues of all destinations (Farreras 2008, section 4.3): every message enters the queue of its
// destination and leaves it when the receiver has accepted or recorded it, so the queue continues the receiver's queues
// in the sender's memory. Entries lie in one table; a request's number is its index and how often that was used before,
// so an answer to a request that is over is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "wire/flow/packet.hpp"

namespace tri::wire::flow {

using entry_index = std::uint32_t;
inline constexpr entry_index no_entry = std::numeric_limits<entry_index>::max();

struct pending_send {
  enum class state : std::uint8_t {
    unused,
    fresh,     // no request was made yet
    waiting,   // its request is not answered
    refused,   // answered NCTS; asked again when the age is another than `age_tried`
    recorded,  // answered NCTSD: out of the queue, the data waits for CTS
  };
  message_token message = 0;
  std::uint64_t bytes = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  peer_number to = 0;
  std::uint32_t age_tried = 0;
  std::uint32_t reuse = 0;
  entry_index next = no_entry;
  entry_index previous = no_entry;
  state is = state::unused;
  bool is_paid = false;  // by a credit: the receiver has the data, or will with the request under way
};

/// What a sender keeps for each peer.
struct destination {
  entry_index first = no_entry;
  entry_index last = no_entry;
  entry_index unasked = no_entry;  // everything before it was asked with the present age; it and what follows were not
  std::uint32_t age = 0;
};
static_assert(sizeof(destination) == 16);

class pending_sends {
 public:
  pending_send& operator[](entry_index index) { return entries_[index]; }
  const pending_send& operator[](entry_index index) const { return entries_[index]; }
  std::size_t capacity() const { return entries_.size(); }
  std::size_t size() const { return size_; }

  std::uint64_t number_of(entry_index index) const { return std::uint64_t{entries_[index].reuse} << 32U | index; }
  /// no_entry: there is no such request, or not any more.
  entry_index find(std::uint64_t number) const {
    const auto index = static_cast<entry_index>(number);
    if (index >= entries_.size() || entries_[index].is == pending_send::state::unused) return no_entry;
    return number_of(index) == number ? index : no_entry;
  }

  entry_index append(destination& queue, const pending_send& what) {
    entry_index index = first_unused_;
    if (index == no_entry) {
      index = static_cast<entry_index>(entries_.size());
      entries_.push_back(what);
    } else {
      first_unused_ = entries_[index].next;
      const std::uint32_t reuse = entries_[index].reuse;
      entries_[index] = what;
      entries_[index].reuse = reuse;
    }
    pending_send& entry = entries_[index];
    entry.is = pending_send::state::fresh;
    entry.previous = queue.last;
    entry.next = no_entry;
    if (queue.last == no_entry) {
      queue.first = index;
    } else {
      entries_[queue.last].next = index;
    }
    queue.last = index;
    if (queue.unasked == no_entry) queue.unasked = index;
    ++size_;
    return index;
  }

  /// Out of the queue; the entry stays until release.
  void unlink(destination& queue, entry_index index) {
    const pending_send& entry = entries_[index];
    if (queue.unasked == index) queue.unasked = entry.next;
    (entry.previous == no_entry ? queue.first : entries_[entry.previous].next) = entry.next;
    (entry.next == no_entry ? queue.last : entries_[entry.next].previous) = entry.previous;
  }
  void release(entry_index index) {
    pending_send& entry = entries_[index];
    entry.is = pending_send::state::unused;
    ++entry.reuse;
    entry.next = first_unused_;
    first_unused_ = index;
    --size_;
  }

 private:
  std::vector<pending_send> entries_;
  entry_index first_unused_ = no_entry;
  std::size_t size_ = 0;
};

}  // namespace tri::wire::flow
