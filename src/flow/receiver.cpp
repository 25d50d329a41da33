#include "flow/receiver.hpp"

#include <algorithm>
#include <string>

namespace tri::flow {

receiver::receiver(std::size_t peers, std::uint64_t memory_limit, std::size_t answers, restart_pace pace,
                   std::uint64_t buffer_limit)
    : memory_(memory_limit),
      buffers_(buffer_limit),
      answers_(answers),
      ages_(peers),
      refused_at_(peers),
      marked_(peers),
      owed_(peers),
      restarted_(peers),
      pace_(pace),
      restarts_at_(pace == restart_pace::by_name ? std::max(record_bytes, memory_limit / 2) : record_bytes) {
  if (peers >= any_source)
    throw std::invalid_argument("flow control: " + std::to_string(peers) + " peers are too many");
}

void receiver::check_peer(peer_number from, packet_kind kind) const {
  if (from >= ages_.size())
    throw protocol_error(from, kind, "there are only " + std::to_string(ages_.size()) + " peers");
}

void receiver::answer(peer_number to, packet_kind kind, std::uint64_t request, std::uint64_t place,
                      std::uint64_t bytes) {
  outgoing out{.to = to, .what = {}};
  out.what.kind = kind;
  out.what.request = request;
  out.what.place = place;
  out.what.bytes = bytes;
  if (kind == packet_kind::ncts) out.what.age = ages_[to];
  answers_.put(out);
}

// The data of `request` goes to the memory of a receive.
std::uint64_t receiver::grant_to_receive(peer_number from, const delivery& what, std::uint64_t request,
                                         std::uint64_t capacity) {
  const std::uint64_t place = next_place_++;
  const auto [entry, is_new] = receiving_.emplace(place, what);
  entry->second.place = place;
  answer(from, packet_kind::cts, request, place, std::min(what.bytes, capacity));
  return place;
}

decision receiver::on_request(peer_number from, const packet& rts) {
  check_peer(from, rts.kind);
  if (rts.kind != packet_kind::rts) throw protocol_error(from, rts.kind, "only RTS and DATA come to a receiver");
  if (!has_capacity())
    throw std::logic_error("flow control: a request was handed in while there is no slot for an answer");
  ++count_.requests;

  if (rts.age != ages_[from]) {
    // It was in flight when its sender was restarted. Accepted now, it could overtake one that was refused before it.
    ++count_.stale;
    answer(from, packet_kind::ncts, rts.request);
    // One that is marked has been told of the receive, and asks again when it hears the new age.
    if (!marked_.has(from) && queues_.has_receive_for(key_of(from, rts.context, rts.tag))) owed_.insert(from);
    return {.what = verdict::stale};
  }
  const bool is_paid = rts.paid != payment::none;
  restarted_.erase(from);
  owed_.erase(from);  // it knows the age; notified again, it would not answer, and we would wait for ever

  // All its messages were or will be requested with this age, in order: it needs no further notification of receives.
  if (rts.none_asleep && refused_at_[from] != rts.age) marked_.erase(from);

  if (const auto match = queues_.take_receive_for(key_of(from, rts.context, rts.tag))) {
    delivery to{.receive = match->token,
                .bytes = rts.bytes,
                .source = from,
                .context = rts.context,
                .tag = rts.tag,
                .is_paid = is_paid};
    const std::uint64_t place = grant_to_receive(from, to, rts.request, match->capacity);
    return {verdict::to_receive, place, match->token};
  }
  // With an earlier message of its sender refused, it has to wait, too: recorded, it would overtake that.
  if (marked_.has(from) || (!is_paid && !memory_.try_take(record_bytes))) {
    ++count_.refusals;
    marked_.insert(from);
    refused_at_[from] = rts.age;
    answer(from, packet_kind::ncts, rts.request);
    return {.what = verdict::refused};
  }
  const std::uint64_t place = next_place_++;
  unexpected_message message;
  message.key = key_of(from, rts.context, rts.tag);
  message.bytes = rts.bytes;
  message.place = place;
  message.request = rts.request;
  const bool has_buffer =
      is_paid || (buffers_.fits(rts.bytes) && memory_.try_take(rts.bytes) && buffers_.try_take(rts.bytes));
  message.is_paid = is_paid;
  if (has_buffer) message.is = unexpected_message::state::coming;
  queues_.record(message);
  if (has_buffer) {
    answer(from, packet_kind::cts, rts.request, place, rts.bytes);
    return {verdict::buffered, place, 0};
  }
  answer(from, packet_kind::nctsd, rts.request);
  return {.what = verdict::recorded};
}

std::optional<delivery> receiver::on_data(peer_number from, const packet& data) {
  check_peer(from, data.kind);
  if (data.kind != packet_kind::data) throw protocol_error(from, data.kind, "only RTS and DATA come to a receiver");
  if (const auto direct = receiving_.find(data.place); direct != receiving_.end()) {
    if (direct->second.source != from) throw protocol_error(from, data.kind, "its place was given to another peer");
    const delivery done = direct->second;
    receiving_.erase(direct);
    return done;
  }
  unexpected_message* const message = queues_.at(data.place);
  if (message == nullptr || message->source() != from || message->is != unexpected_message::state::coming)
    throw protocol_error(from, data.kind, "no data is awaited at its place " + std::to_string(data.place));
  message->is = unexpected_message::state::complete;
  if (!message->matched) return std::nullopt;
  return deliver(*message, message->receive);
}

// A message that is complete in its buffer; its record goes.
delivery receiver::deliver(unexpected_message& message, message_token receive) {
  delivery done{.receive = receive,
                .place = message.place,
                .buffer_bytes = message.bytes,
                .bytes = message.bytes,
                .source = message.source(),
                .context = message.context(),
                .tag = message.tag(),
                .buffered = true};
  if (message.is_paid) {
    done.buffer_bytes = 0;
    done.is_paid = true;
  }
  queues_.erase(message);
  if (!done.is_paid) release(record_bytes);
  return done;
}

std::optional<delivery> receiver::post(const receive& wanted) {
  if (wanted.filter.source != any_source && wanted.filter.source >= ages_.size()) {
    throw std::invalid_argument("flow control: receive from peer " + std::to_string(wanted.filter.source) +
                                ", but there are only " + std::to_string(ages_.size()));
  }
  if (!has_capacity())
    throw std::logic_error("flow control: a receive was posted while there is no slot for an answer");
  unexpected_message* const found = queues_.find(wanted.filter);
  if (found == nullptr) {
    queues_.post(wanted);
    restart_for_receive(wanted.filter);
    return std::nullopt;
  }
  switch (found->is) {
    case unexpected_message::state::bare: {
      const delivery to{.receive = wanted.token,
                        .bytes = found->bytes,
                        .source = found->source(),
                        .context = found->context(),
                        .tag = found->tag()};
      const std::uint64_t request = found->request;
      queues_.erase(*found);
      grant_to_receive(to.source, to, request, wanted.capacity);
      release(record_bytes);
      return std::nullopt;
    }
    case unexpected_message::state::coming:
      queues_.set_matched(*found);
      found->receive = wanted.token;
      return std::nullopt;
    case unexpected_message::state::complete:
      return deliver(*found, wanted.token);
  }
  return std::nullopt;
}

void receiver::release(std::uint64_t bytes) {
  memory_.give_back(bytes);
  if (memory_.fits(restarts_at_)) restart_all();
}

// From now on only requests made after the notification are accepted.
void receiver::restart(peer_number peer) {
  marked_.erase(peer);
  ++ages_[peer];
  restarted_.erase(peer);
  owed_.insert(peer);
  std::erase_if(finds_, [peer](const restart_of_one& one) { return one.in == peer; });  // they are part of it
}

void receiver::restart_all() {
  while (!marked_.is_empty()) restart(marked_.next_from(0));
}

void receiver::restart_for_receive(const message_filter& filter) {
  if (filter.source == any_source) {
    restart_all();
    return;
  }
  if (pace_ == restart_pace::by_name) {
    // It stays marked. Its requests made before it learns of this are refused: they could overtake the found message.
    if (marked_.has(filter.source))
      finds_.push_back({filter.source, ++ages_[filter.source], filter.context, filter.tag});
  } else if (marked_.has(filter.source)) {
    restart(filter.source);
  }
  if (owed_.has(filter.source)) restart_from_ = filter.source;  // before others that this receive does not help
}

// As many as memory and receives may serve; each restarted sender answers with at least one request, and then either
// has used the memory, or is refused and makes room for the next.
bool receiver::may_restart_one_more() const {
  if (!finds_.empty()) return true;
  if (owed_.is_empty()) return false;
  if (pace_ == restart_pace::all_at_once) return true;
  return restarted_.size() < memory_.free() / record_bytes + queues_.posted();
}

std::optional<outgoing> receiver::next_packet() {
  const bool can_restart = may_restart_one_more();
  if (!answers_.is_empty() && !(restart_next_ && can_restart)) {
    restart_next_ = true;
    return answers_.take();
  }
  restart_next_ = false;
  if (!finds_.empty()) {
    const restart_of_one one = finds_.front();
    finds_.erase(finds_.begin());
    ++count_.restarts;
    outgoing out{.to = one.in, .what = {}};
    out.what.kind = packet_kind::resend_one;
    out.what.age = one.age;
    out.what.context = one.context;
    out.what.tag = one.tag;
    return out;
  }
  if (!can_restart) return std::nullopt;
  const peer_number peer = owed_.next_from(restart_from_);
  owed_.erase(peer);
  restarted_.insert(peer);
  restart_from_ = peer + 1 < ages_.size() ? peer + 1 : 0;
  ++count_.restarts;
  outgoing out{.to = peer, .what = {}};
  out.what.kind = packet_kind::resend_all;
  out.what.age = ages_[peer];
  return out;
}

}  // namespace tri::flow
