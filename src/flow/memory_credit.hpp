// Bounded memory for streams of messages, the sender's side: how much of a receiver's memory this process may fill. One
// per receiver. Messages without credit wait at the sender, in order. credit_pool.hpp is the receiver's side, README.md
// the rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace tri::flow {

/// The control message between the two sides. All totals are counted from the start of the pair, so control messages
/// may overtake each other and messages.
struct credit_control {
  enum class kind : std::uint32_t {
    grant,     // receiver: `total` was granted so far
    request,   // sender: a message of `bytes` follows `total`, then 64 * `more` bytes of others
    recall,    // receiver: return the unused part of the `total` granted
    returned,  // sender: returns `bytes`; they count as used, which makes it `total`
  };
  kind what = kind::grant;
  std::uint32_t more = 0;
  std::uint64_t total = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(credit_control) == 24 && std::has_unique_object_representations_v<credit_control>,
              "sent as it is");

class memory_credit {
 public:
  void granted(std::uint64_t total) { granted_ = std::max(granted_, total); }
  bool covers(std::uint64_t cost) const { return cost <= granted_ - used_; }
  /// A message leaves that was covered.
  void use(std::uint64_t cost) {
    used_ += cost;
    asked_ = false;
  }
  /// The first message that waits is not covered. Nothing when that was already requested.
  std::optional<credit_control> request(std::uint64_t first, std::uint64_t waiting_behind) {
    if (asked_) return std::nullopt;
    asked_ = true;
    const std::uint64_t more = std::min<std::uint64_t>(waiting_behind / 64, most_more);
    return credit_control{.what = credit_control::kind::request,
                          .more = static_cast<std::uint32_t>(more),
                          .total = used_,
                          .bytes = first};
  }
  /// The answer to a recall, also with 0. Waiting messages must be requested again. Call granted() with the recall's
  /// total first, and send all messages that this covers. Otherwise a recall that overtakes a grant revokes it unused,
  /// and two senders can livelock.
  credit_control recalled() {
    const std::uint64_t unused = granted_ - used_;
    used_ = granted_;
    asked_ = false;
    return {.what = credit_control::kind::returned, .total = used_, .bytes = unused};
  }

  template <class Put>
  void encode(Put&& put) const {  // for explorations
    put(granted_);
    put(used_ * 2 + (asked_ ? 1 : 0));
  }

  static constexpr std::uint32_t most_more = (1U << 29) - 1;

 private:
  std::uint64_t granted_ = 0;
  std::uint64_t used_ = 0;
  bool asked_ = false;  // a request for what waits first is on its way, or known there
};
static_assert(sizeof(memory_credit) == 24);

}  // namespace tri::flow
