#include "flow/sender.hpp"

#include "flow/credit_cost.hpp"

namespace tri::flow {
namespace {

using state = pending_send::state;

}  // namespace

std::size_t sender::pending(peer_number to) const {
  std::size_t count = 0;
  for (entry_index i = destinations_[to].first; i != no_entry; i = entries_[i].next) ++count;
  return count + entries_.asleep(to);
}

void sender::send(peer_number to, const message_to_send& message, std::vector<outgoing>& out) {
  if (to >= destinations_.size()) {
    throw std::invalid_argument("flow control: message to peer " + std::to_string(to) + ", but there are only " +
                                std::to_string(destinations_.size()));
  }
  destination& queue = destinations_[to];
  pending_send entry;
  entry.message = message.token;
  entry.bytes = message.bytes;
  entry.context = message.context;
  entry.tag = message.tag;
  entry.to = to;
  entries_.append(queue, entry);
  pump(queue, out);
}

// Requests all messages not yet requested with the current age, in order, up to the first whose older request is
// unanswered: should that be refused, the following ones would have overtaken it. Its answer resumes the walk.
void sender::pump(destination& queue, std::vector<outgoing>& out) {
  while (queue.unasked != no_entry) {
    pending_send& entry = entries_[queue.unasked];
    if (entry.is == state::waiting) return;
    entry.is = state::waiting;
    entry.age_tried = queue.age;
    outgoing request{.to = entry.to, .what = {}, .message = entry.message};
    request.what.kind = packet_kind::rts;
    request.what.age = queue.age;
    request.what.context = entry.context;
    request.what.tag = entry.tag;
    request.what.request = entries_.number_of(queue.unasked);
    request.what.bytes = entry.bytes;
    request.what.is_wanted = entry.is_wanted;
    request.what.none_asleep = !entries_.has_asleep(entry.to);
    if (entry.is_paid) {
      request.what.paid = payment::before;
    } else if (credits_.largest_eager() != 0 &&
               credits_.send(entry.to, credit_cost(entry.bytes)) == prediction::route::eager) {
      request.what.paid = payment::here;
      entry.is_paid = true;
    }
    out.push_back(request);
    queue.unasked = entry.next;
  }
}

void sender::walk_again(destination& queue, std::uint32_t age, std::vector<outgoing>& out) {
  queue.age = age;
  queue.unasked = queue.first;
  pump(queue, out);
}

void sender::send_data(entry_index index, const packet& cts, std::vector<outgoing>& out) {
  const pending_send& entry = entries_[index];
  outgoing data{.to = entry.to, .what = {}, .message = entry.message};
  data.what.kind = packet_kind::data;
  data.what.place = cts.place;
  data.what.bytes = cts.bytes;
  out.push_back(data);
  entries_.release(index);
}

void sender::on_packet(peer_number from, const packet& what, std::vector<outgoing>& out) {
  if (from >= destinations_.size()) {
    throw protocol_error(from, what.kind, "there are only " + std::to_string(destinations_.size()) + " peers");
  }
  destination& queue = destinations_[from];
  if (what.kind == packet_kind::resend_all) {
    // The same age a second time changes nothing: pending attempts are remembered, not counted.
    if (what.age == queue.age) return;
    entries_.wake_all(queue, from);
    walk_again(queue, what.age, out);
    return;
  }
  if (what.kind == packet_kind::resend_one) {
    // All awake messages must also be requested with the new age, so that none overtakes an older one.
    const entry_index first = entries_.find_asleep({.source = from, .context = what.context, .tag = what.tag});
    if (first != no_entry) entries_.wake(queue, first);
    walk_again(queue, what.age, out);
    return;
  }
  if (what.kind != packet_kind::cts && what.kind != packet_kind::ncts && what.kind != packet_kind::nctsd) {
    throw protocol_error(from, what.kind, "only CTS, NCTS, NCTSD, resendAll and resendOne come to a sender");
  }
  const entry_index index = entries_.find(what.request);
  if (index == no_entry || entries_[index].to != from) {
    throw protocol_error(from, what.kind, "there is no request " + std::to_string(what.request) + " to it");
  }
  pending_send& entry = entries_[index];
  if (entry.is == state::recorded && what.kind == packet_kind::cts) {
    send_data(index, what, out);  // its place in the order is the receiver's
    return;
  }
  if (entry.is != state::waiting)
    throw protocol_error(from, what.kind, "its request " + std::to_string(what.request) + " was answered before");
  switch (what.kind) {
    case packet_kind::cts:
      entries_.unlink(queue, index);
      send_data(index, what, out);
      break;
    case packet_kind::nctsd:
      entries_.unlink(queue, index);
      entry.is = state::recorded;
      break;
    default:
      // When judged with its own age there was no receive for it, and a later receive is notified with a newer age:
      // after this, or before, and then it is requested again.
      if (what.age == entry.age_tried && queue.age == entry.age_tried) {
        entries_.put_to_sleep(queue, index);
      } else {
        entry.is = state::refused;
      }
      break;
  }
  pump(queue, out);
}

}  // namespace tri::flow
