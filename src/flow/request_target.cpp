#include "flow/request_target.hpp"

#include <limits>
#include <string>

namespace tri::flow {

request_target::request_target(std::size_t peers, std::size_t slots)
    : slots_(slots), refused_(peers), waiting_(peers), told_(peers), unsaid_(peers) {
  if (slots == 0 || slots > std::numeric_limits<slot_number>::max())
    throw std::invalid_argument("flow control of requests: " + std::to_string(slots) +
                                " slots; a target needs 1 to 4294967295");
  for (slot_number i = 0; i < slots; ++i) slots_[i].next_free = i + 1;
}

request_decision request_target::accept(peer_number from, std::uint64_t request) {
  const slot_number taken = first_free_;
  slot& one = slots_[taken];
  first_free_ = one.next_free;
  one = {.request = request, .peer = from, .is_used = true};
  ++in_use_;
  ++count_.accepted;
  return {.what = request_verdict::accepted, .slot = taken};
}

request_decision request_target::on_request(peer_number from, const request_control& note) {
  if (from >= refused_.size())
    throw request_protocol_error(from, note.kind, "there are only " + std::to_string(refused_.size()) + " peers");
  if (note.kind != request_kind::request)
    throw request_protocol_error(from, note.kind, "only requests come to a target");
  const bool was_refused = note.request == refused_[from];
  if (told_.has(from) && was_refused) {
    told_.erase(from);
    return accept(from, note.request);
  }
  if (told_.has(from) || waiting_.has(from)) {
    if (was_refused)
      throw request_protocol_error(
          from, note.kind, std::to_string(note.request) + " was refused, and comes again before it was asked to");
    ++count_.dropped;
    return {.what = request_verdict::dropped};
  }
  // Behind those that wait, even with free slots: these are reserved for them.
  if (waiting_.is_empty() && free_for_all() > 0) return accept(from, note.request);
  refused_[from] = note.request;
  waiting_.insert(from);
  unsaid_.insert(from);
  ++count_.refused;
  return {.what = request_verdict::refused};
}

outgoing_control request_target::finish(slot_number number) {
  if (number >= slots_.size() || !slots_[number].is_used)
    throw std::logic_error("flow control of requests: slot " + std::to_string(number) + " is finished, but not in use");
  slot& one = slots_[number];
  const outgoing_control answer{.peer = one.peer, .what = {.request = one.request, .kind = request_kind::done}};
  one.is_used = false;
  one.next_free = first_free_;
  first_free_ = number;
  --in_use_;
  return answer;
}

// A peer that gets a slot at once need not be sent its refusal.
std::optional<outgoing_control> request_target::next_control() {
  if (may_announce_one_more()) {
    const peer_number peer = waiting_.next_from(next_told_);
    waiting_.erase(peer);
    unsaid_.erase(peer);
    told_.insert(peer);
    next_told_ = peer + 1 < refused_.size() ? peer + 1 : 0;
    ++count_.announced_again;
    return outgoing_control{.peer = peer, .what = {.request = refused_[peer], .kind = request_kind::again}};
  }
  if (unsaid_.is_empty()) return std::nullopt;
  const peer_number peer = unsaid_.next_from(next_told_);
  unsaid_.erase(peer);
  return outgoing_control{.peer = peer, .what = {.request = refused_[peer], .kind = request_kind::refused}};
}

}  // namespace tri::flow
