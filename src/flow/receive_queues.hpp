// The two queues of a receiver, matched by matching/match_table.hpp: receives that wait for a message, in memory of
// their poster, and unexpected messages, which were recorded before a receive took them. Each of these costs
// record_bytes of the receiver's memory, and is one allocation of at most that size: when it goes, the memory is really
// free. A copy has records of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <utility>

#include "flow/message_filter.hpp"
#include "matching/chain.hpp"
#include "matching/match_table.hpp"

namespace tri::flow {

struct receive {
  message_filter filter;
  std::uint64_t capacity = 0;  // bytes of the poster's buffer
  message_token token = 0;
};

struct unexpected_message : matching::arrived_message {
  enum class state : std::uint8_t {
    bare,      // no buffer: the sender holds the data until a cts (it was told nctsd)
    coming,    // has a buffer, the data is on its way
    complete,  // the data is in the buffer
  };
  std::uint64_t place = 0;  // the receiver's number of it; they grow
  std::uint64_t request = 0;
  message_token receive = 0;  // matched: the receive that gets it when the data is here
  state is = state::bare;
  bool matched = false;
  bool is_paid = false;  // record and buffer are those of a credit, not of this account
  matching::chain_link place_link;

  peer_number source() const { return static_cast<peer_number>(key.source); }
  std::uint32_t context() const { return static_cast<std::uint32_t>(key.context); }
  std::int32_t tag() const { return key.tag; }
};

class receive_queues {
 public:
  receive_queues() = default;
  receive_queues(const receive_queues& other) : receive_queues() { copy(other); }
  receive_queues& operator=(const receive_queues& other) {
    if (this != &other) {
      clear();
      copy(other);
    }
    return *this;
  }
  ~receive_queues() { clear(); }

  // Posted receives.

  std::size_t posted() const { return posted_.size(); }
  template <class Each>
  void for_each_posted(Each&& each) const {
    for (const posted_entry& one : posted_) each(one.what);
  }
  void post(const receive& one) {
    posted_entry& added = posted_.emplace_back();
    added.self = std::prev(posted_.end());
    added.key = one.filter.key();
    added.what = one;
    table_.post(added);
  }
  bool has_receive_for(const matching::message_key& message) const { return table_.find_receive(message) != nullptr; }
  /// The first posted one that takes the message; it leaves the queue.
  std::optional<receive> take_receive_for(const matching::message_key& message) {
    const auto* const found = static_cast<posted_entry*>(table_.match(message));
    if (found == nullptr) return std::nullopt;
    const receive taken = found->what;
    posted_.erase(found->self);
    return taken;
  }
  /// False: it has got its message.
  bool withdraw(message_token token) {
    for (auto one = posted_.begin(); one != posted_.end(); ++one) {
      if (one->what.token != token) continue;
      table_.withdraw(*one);
      posted_.erase(one);
      return true;
    }
    return false;
  }

  // Unexpected messages.

  std::size_t recorded() const { return recorded_; }
  /// Those that no receive has taken in the order of arrival, then those whose data is awaited.
  template <class Each>
  void for_each_recorded(Each&& each) const {
    for (const auto* one = table_.in_order().front(); one != nullptr; one = table_.in_order().behind(*one))
      each(static_cast<const unexpected_message&>(*one));
    for (const auto* one = matched_.front(); one != nullptr; one = matched_.behind(*one))
      each(static_cast<const unexpected_message&>(*one));
  }
  void record(const unexpected_message& message) {
    auto* const added = new unexpected_message(message);
    added->bin_link = added->order_link = added->place_link = {};
    places_[added->place % place_bins].push_back(*added);
    if (added->matched)
      matched_.push_back(*added);
    else
      table_.add_unexpected(*added);
    ++recorded_;
  }
  /// Null: none is there.
  unexpected_message* at(std::uint64_t place) const {
    return places_[place % place_bins].find([=](const unexpected_message& one) { return one.place == place; });
  }
  /// The first that a receive would take, which stays; null: none.
  unexpected_message* find(const message_filter& filter) const {
    return static_cast<unexpected_message*>(table_.find(filter.key()));
  }
  /// No other receive gets it; it stays recorded.
  void set_matched(unexpected_message& message) {
    table_.take(message);
    message.matched = true;
    matched_.push_back(message);
  }
  void erase(unexpected_message& message) {
    if (message.matched)
      message.order_link.unlink();
    else
      table_.take(message);
    message.place_link.unlink();
    --recorded_;
    delete &message;
  }

 private:
  static constexpr std::size_t place_bins = 64;  // data comes mostly in the order of places
  struct posted_entry : matching::posted_receive {
    receive what;
    std::list<posted_entry>::iterator self;
  };

  void copy(const receive_queues& other) {
    other.for_each_posted([this](const receive& one) { post(one); });
    other.for_each_recorded([this](const unexpected_message& one) { record(one); });
  }
  void clear() {
    for (posted_entry& one : posted_) table_.withdraw(one);
    posted_.clear();
    for (auto& bin : places_)
      while (unexpected_message* const one = bin.front()) erase(*one);
  }

  std::list<posted_entry> posted_;
  matching::match_table<matching::by_source_and_tag> table_;
  matching::chain<matching::arrived_message, &matching::arrived_message::order_link> matched_;
  std::array<matching::chain<unexpected_message, &unexpected_message::place_link>, place_bins> places_;
  std::size_t recorded_ = 0;
};

/// With what the allocator adds.
inline constexpr std::uint64_t record_bytes = 120;
static_assert(sizeof(unexpected_message) + 16 <= record_bytes, "a record takes no more than is counted for it");

}  // namespace tri::flow
