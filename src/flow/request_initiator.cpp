#include "flow/request_initiator.hpp"

#include <limits>
#include <string>

namespace tri::flow {
namespace {

using state = pending_send::state;

}  // namespace

request_initiator::request_initiator(std::size_t peers, std::size_t most_unanswered)
    : most_unanswered_(static_cast<std::uint16_t>(most_unanswered)), queues_(peers) {
  if (most_unanswered == 0 || most_unanswered > std::numeric_limits<std::uint16_t>::max())
    throw std::invalid_argument("flow control of requests: " + std::to_string(most_unanswered) +
                                " unanswered requests to a target; 1 to 65535 are possible");
  for (request_queue& queue : queues_) queue.window = most_unanswered_;
}

void request_initiator::request(peer_number to, message_token token, std::vector<outgoing_control>& out) {
  if (to >= queues_.size())
    throw std::invalid_argument("flow control of requests: request to peer " + std::to_string(to) +
                                ", but there are only " + std::to_string(queues_.size()));
  pending_send entry;
  entry.message = token;
  entry.to = to;
  entries_.append(queues_[to], entry);
  pump(queues_[to], out);
}

void request_initiator::pump(request_queue& queue, std::vector<outgoing_control>& out) {
  while (queue.unasked != no_entry && !queue.is_refused && queue.unanswered < queue.window) {
    pending_send& entry = entries_[queue.unasked];
    entry.is = state::waiting;
    ++queue.unanswered;
    out.push_back({.peer = entry.to,
                   .what = {.request = entries_.number_of(queue.unasked), .kind = request_kind::request},
                   .token = entry.message});
    queue.unasked = entry.next;
  }
}

// The target has dropped, or will drop, every request behind the refused one, so none of them is in flight any more.
void request_initiator::go_back(request_queue& queue, entry_index refused) {
  for (entry_index i = refused; i != queue.unasked; i = entries_[i].next) {
    entries_[i].is = state::fresh;
    --queue.unanswered;
  }
  entries_[refused].is = state::refused;
  queue.unasked = refused;
  queue.is_refused = true;
}

request_initiator::request_queue& request_initiator::queue_of(peer_number from, request_kind kind) {
  if (from >= queues_.size())
    throw request_protocol_error(from, kind, "there are only " + std::to_string(queues_.size()) + " peers");
  return queues_[from];
}

std::optional<message_token> request_initiator::on_control(peer_number from, const request_control& note,
                                                           std::vector<outgoing_control>& out) {
  request_queue& queue = queue_of(from, note.kind);
  if (note.kind != request_kind::done && note.kind != request_kind::refused && note.kind != request_kind::again)
    throw request_protocol_error(from, note.kind, "only answers come to an initiator");
  const entry_index index = entries_.find(note.request);
  if (index == no_entry || entries_[index].to != from)
    throw request_protocol_error(from, note.kind, "there is no request " + std::to_string(note.request) + " to it");
  const bool is_under_way = entries_[index].is == state::waiting;
  // Whether the request is refused is reported once: by the refusal, or by the control message to send again, whichever
  // is first.
  const bool is_announced = note.kind == request_kind::again && entries_[index].is == state::refused;
  if (!is_announced && (!is_under_way || (queue.is_refused && note.kind != request_kind::done)))
    throw request_protocol_error(from, note.kind, "its request " + std::to_string(note.request) + " is not under way");

  if (note.kind == request_kind::done) {
    const message_token token = entries_[index].message;
    entries_.unlink(queue, index);
    entries_.release(index);
    --queue.unanswered;
    // After a refusal the window restarts at one request; each answer without a repetition widens it by one. So a
    // target without room does not repeatedly receive requests that it drops.
    if (!queue.has_asked_again && queue.window < most_unanswered_) ++queue.window;
    queue.has_asked_again = false;
    pump(queue, out);
    return token;
  }
  if (is_under_way) go_back(queue, index);
  if (note.kind == request_kind::again) {
    queue.is_refused = false;
    queue.has_asked_again = true;
    queue.window = static_cast<std::uint16_t>(queue.unanswered + 1);
    pump(queue, out);
  }
  return std::nullopt;
}

}  // namespace tri::flow
