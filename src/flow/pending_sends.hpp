// The pending send queues of all destinations (Farreras 2008, section 4.3): every message enters the queue of its
// destination and leaves it when the receiver has accepted or recorded it, so the queue continues the receiver's queues
// in the sender's memory. Entries are in one table; a request's number is its index and a generation count, so a stale
// answer is detected. Messages refused for lack of memory sleep outside the queue, indexed by context and tag, until
// the receiver requests one or all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "flow/message_filter.hpp"
#include "flow/packet.hpp"

namespace tri::flow {

using entry_index = std::uint32_t;
inline constexpr entry_index no_entry = std::numeric_limits<entry_index>::max();

struct pending_send {
  enum class state : std::uint8_t {
    unused,
    fresh,     // not requested yet
    waiting,   // its request is not answered
    refused,   // answered NCTS because its age was over; requested again with the next one
    asleep,    // answered NCTS for lack of memory; requested again only when the receiver allows it
    recorded,  // answered NCTSD: out of the queue, the data waits for CTS
  };
  message_token message = 0;
  std::uint64_t bytes = 0;
  std::uint64_t order = 0;  // of sending, among all
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  peer_number to = 0;
  std::uint32_t age_tried = 0;
  std::uint32_t reuse = 0;
  entry_index next = no_entry;
  entry_index previous = no_entry;
  state is = state::unused;
  bool is_wanted = false;  // found for a receive, and not judged since
  bool is_paid = false;    // by a credit: the receiver has the data, or gets it with the request in flight
};

/// The queue of one destination.
struct send_queue {
  entry_index first = no_entry;
  entry_index last = no_entry;
  entry_index unasked = no_entry;  // all before it were requested (with the current age); it and the rest were not
};

/// A sender's state per peer.
struct destination : send_queue {
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
  /// no_entry: there is no such request (any more).
  entry_index find(std::uint64_t number) const {
    const auto index = static_cast<entry_index>(number);
    if (index >= entries_.size() || entries_[index].is == pending_send::state::unused) return no_entry;
    return number_of(index) == number ? index : no_entry;
  }

  entry_index append(send_queue& queue, const pending_send& what) {
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
    entry.order = next_order_++;
    insert_before(queue, index, no_entry);
    if (queue.unasked == no_entry) queue.unasked = index;
    ++size_;
    return index;
  }

  /// Out of the queue; the entry stays until release.
  void unlink(send_queue& queue, entry_index index) {
    const pending_send& entry = entries_[index];
    if (queue.unasked == index) queue.unasked = entry.next;
    (entry.previous == no_entry ? queue.first : entries_[entry.previous].next) = entry.next;
    (entry.next == no_entry ? queue.last : entries_[entry.next].previous) = entry.previous;
  }

  /// Out of the queue, to be found.
  void put_to_sleep(send_queue& queue, entry_index index) {
    unlink(queue, index);
    pending_send& entry = entries_[index];
    entry.is = pending_send::state::asleep;
    entry.is_wanted = false;
    asleep_.emplace(std::pair(entry.to, entry.order), index);
    by_tag_.emplace(std::tuple(entry.to, entry.context, entry.tag, entry.order), index);
  }
  /// The first one asleep that matches the filter, whose source is the destination. no_entry: there is none.
  entry_index find_asleep(const message_filter& wanted) const {
    if (wanted.tag != any_tag) {
      const auto one = by_tag_.lower_bound({wanted.source, wanted.context, wanted.tag, 0});
      return one != by_tag_.end() &&
                     wanted.takes(std::get<0>(one->first), std::get<1>(one->first), std::get<2>(one->first))
                 ? one->second
                 : no_entry;
    }
    for (auto one = asleep_.lower_bound({wanted.source, 0}); one != asleep_.end() && one->first.first == wanted.source;
         ++one) {
      if (entries_[one->second].context == wanted.context) return one->second;
    }
    return no_entry;
  }
  /// Back to its place in the queue, which has to be walked from its beginning then.
  void wake(send_queue& queue, entry_index index) {
    pending_send& entry = entries_[index];
    entry.is_wanted = true;
    asleep_.erase({entry.to, entry.order});
    by_tag_.erase({entry.to, entry.context, entry.tag, entry.order});
    entry.is = pending_send::state::refused;
    // Mostly what sleeps is older than all that is awake.
    entry_index next = queue.first;
    while (next != no_entry && entries_[next].order < entry.order) next = entries_[next].next;
    insert_before(queue, index, next);
  }
  void wake_all(send_queue& queue, peer_number to) {
    entry_index next = queue.first;
    for (auto one = asleep_.lower_bound({to, 0}); one != asleep_.end() && one->first.first == to;) {
      const entry_index index = one->second;
      const pending_send& entry = entries_[index];
      by_tag_.erase({entry.to, entry.context, entry.tag, entry.order});
      one = asleep_.erase(one);
      entries_[index].is = pending_send::state::refused;
      while (next != no_entry && entries_[next].order < entry.order) next = entries_[next].next;
      insert_before(queue, index, next);
    }
  }
  bool has_asleep(peer_number to) const {
    const auto one = asleep_.lower_bound({to, 0});
    return one != asleep_.end() && one->first.first == to;
  }
  std::size_t asleep(peer_number to) const {
    return static_cast<std::size_t>(
        std::distance(asleep_.lower_bound({to, 0}), asleep_.lower_bound({peer_number{to + 1}, 0})));
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
  // `next`: no_entry for the end.
  void insert_before(send_queue& queue, entry_index index, entry_index next) {
    const entry_index previous = next == no_entry ? queue.last : entries_[next].previous;
    entries_[index].next = next;
    entries_[index].previous = previous;
    (previous == no_entry ? queue.first : entries_[previous].next) = index;
    (next == no_entry ? queue.last : entries_[next].previous) = index;
  }

  std::vector<pending_send> entries_;
  std::map<std::pair<peer_number, std::uint64_t>, entry_index> asleep_;  // by order of sending
  std::map<std::tuple<peer_number, std::uint32_t, std::int32_t, std::uint64_t>, entry_index> by_tag_;
  std::uint64_t next_order_ = 0;
  entry_index first_unused_ = no_entry;
  std::size_t size_ = 0;
};

}  // namespace tri::flow
