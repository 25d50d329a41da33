#include "objects/mailbox_place.hpp"

#include <fmt/format.h>

#include <limits>

namespace tri::objects {

using wire::flow::packet;
using wire::flow::packet_kind;

namespace {

// What data costs in the receiver's memory: a buffer has a header.
std::uint64_t cost_of(std::size_t bytes) { return bytes == 0 ? 0 : bytes + sizeof(tri::detail::buffer_header); }
std::size_t bytes_of(std::uint64_t cost) { return cost == 0 ? 0 : cost - sizeof(tri::detail::buffer_header); }

template <class Entry>
std::size_t take_free(std::vector<Entry>& entries, std::size_t& first_free) {
  constexpr std::size_t none = ~std::size_t{0};
  if (first_free == none) {
    entries.emplace_back();
    return entries.size() - 1;
  }
  return std::exchange(first_free, entries[first_free].next_free);
}

}  // namespace

void check_tag(int tag) {
  if (tag < 0) throw std::invalid_argument("tri::mailbox: tag " + std::to_string(tag) + " given; tags are 0 or larger");
}

message_pattern pattern_of(sched::pe& here, int source, int tag) {
  message_pattern pattern;
  constexpr int any = -1;  // tri::any_source, tri::any_tag
  if (source != any) {
    check_pe(here, source, [] { return "tri::mailbox: asked for messages of a sender"; });
    pattern.filter.source = static_cast<wire::flow::peer_number>(source);
  }
  if (tag != any) {
    check_tag(tag);
    pattern.filter.tag = tag;
  }
  return pattern;
}

std::string message_pattern::describe() const {
  return fmt::format("{} with {}",
                     filter.source == wire::flow::any_source ? "any PE" : fmt::format("PE {}", filter.source),
                     filter.tag == wire::flow::any_tag ? "any tag" : fmt::format("tag {}", filter.tag));
}

receive_state::~receive_state() {
  if (place_ != nullptr) place_->give_up(*this);
}

std::string receive_state::describe() const {
  return fmt::format("a receive from {} in mailbox {}{}", wanted_.describe(), mailbox_,
                     place_ == nullptr ? std::string() : place_->describe_unclaimed());
}

mailbox_place::mailbox_place(const mailbox_limits& limits)
    : limits_(limits),
      sender_(static_cast<std::size_t>(home().here().job().pes())),
      // Half of the memory is kept for records: a message without one is asked for again and again.
      receiver_(static_cast<std::size_t>(home().here().job().pes()), limits.memory, 64,
                wire::flow::restart_pace::as_served, limits.memory / 2) {}

mailbox_place::~mailbox_place() {
  for (const posted_receive& one : receives_)
    if (one.state != nullptr) one.state->place_ = nullptr;
}

// ---- sending

void mailbox_place::send(int to, int tag, message_contents contents) {
  const std::size_t token = take_free(unsent_, free_unsent_);
  const std::uint64_t cost = cost_of(contents.data.size());
  unsent_[token] = {.contents = std::move(contents)};
  out_.clear();
  sender_.send(static_cast<wire::flow::peer_number>(to), {.token = token, .bytes = cost, .context = 0, .tag = tag},
               out_);
  transmit(false);
}

void mailbox_place::take_answer(const answer_note& note) {
  packet answer;
  answer.kind = static_cast<packet_kind>(note.kind);
  if (answer.kind == packet_kind::resend_all)
    answer.age = static_cast<std::uint32_t>(note.request);
  else
    answer.request = note.request;
  answer.place = note.place;
  answer.bytes = note.bytes;
  out_.clear();
  sender_.on_packet(note.source, answer, out_);
  transmit(note.has_data != 0);
}

// A short message goes with its first request. Should that be refused, the later ones go without: most of what is asked
// for again is refused again.
void mailbox_place::transmit(bool data_is_there) try {
  const auto own = static_cast<std::uint32_t>(number());
  for (const wire::flow::outgoing& one : out_) {
    unsent_message& message = unsent_[one.message];
    if (one.what.kind == packet_kind::rts) {
      const request_note note{one.what.request, one.what.bytes, one.what.age, one.what.tag, own};
      if (message.was_offered || message.contents.data.size() > limits_.eager_bytes) {
        at(one.to).send<&mailbox_place::take_request>(note);
      } else {
        message.was_offered = true;
        at(one.to).send<&mailbox_place::take_eager>(note, message.contents.type, message.contents.data.clone());
      }
      continue;
    }
    if (!data_is_there)
      at(one.to).send<&mailbox_place::take_data>(data_note{one.what.place, own, message.contents.type},
                                                 std::move(message.contents.data));
    message = {};
    message.next_free = std::exchange(free_unsent_, one.message);
  }
} catch (const std::exception& error) {
  fail_half_way(error);
}

// The machines have noted what was about to be sent.
void mailbox_place::fail_half_way(const std::exception& error) {
  home().here().job().fail(
      fmt::format("mailbox {} on PE {} cannot go on: {}", home().facts().id, home().here().number(), error.what()));
}

// ---- receiving

void mailbox_place::requested(const request_note& note, message_contents* eager) {
  packet rts;
  rts.age = note.age;
  rts.tag = note.tag;
  rts.request = note.request;
  rts.bytes = note.bytes;
  const wire::flow::decision made = receiver_.on_request(note.source, rts);
  using wire::flow::verdict;
  if (made.what != verdict::refused && made.what != verdict::stale)  // those come again
    trace(trace::event::incoming, note.source, note.tag, bytes_of(note.bytes), 0);
  if (eager != nullptr) {
    ++eager_;
    if (made.what == verdict::to_receive || made.what == verdict::buffered)
      return arrived(note.source, made.place, std::move(*eager), made.place);
  }
  answer(0);
}

void mailbox_place::take_data(const data_note& note, buffer<std::byte> data) {
  arrived(note.source, note.place, {note.type, std::move(data)}, 0);
}

void mailbox_place::arrived(std::uint32_t from, std::uint64_t place, message_contents contents,
                            std::uint64_t came_with_request) {
  packet data;
  data.kind = packet_kind::data;
  data.place = place;
  data.bytes = cost_of(contents.data.size());
  buffered_bytes_ += contents.data.size();
  arrived_.emplace(place, std::move(contents));
  const auto done = receiver_.on_data(from, data);
  if (done.has_value() && done->buffered) receiver_.consumed(done->buffer_bytes);
  answer(came_with_request);
  if (done.has_value()) finish(*done);
}

// The packets that an event gave rise to. Nothing else comes between, so there is always room for the next answer.
void mailbox_place::answer(std::uint64_t came_with_request) try {
  const auto own = static_cast<std::uint32_t>(number());
  while (const auto next = receiver_.next_packet()) {
    const packet& what = next->what;
    const bool has_data = what.kind == packet_kind::cts && what.place == came_with_request;
    at(next->to).send<&mailbox_place::take_answer>(
        answer_note{what.kind == packet_kind::resend_all ? what.age : what.request, what.place, what.bytes, own,
                    static_cast<std::uint16_t>(what.kind), static_cast<std::uint16_t>(has_data ? 1 : 0)});
  }
} catch (const std::exception& error) {
  fail_half_way(error);
}

// Last of an event: a coroutine that goes on may call us.
void mailbox_place::finish(const wire::flow::delivery& done) {
  const auto found = arrived_.find(done.place);
  received_message here(static_cast<int>(done.source), done.tag, std::move(found->second));
  arrived_.erase(found);
  buffered_bytes_ -= here.bytes();
  receive_state* const waiting = receives_[done.receive].state;
  remove(done.receive);
  if (waiting == nullptr) return;
  trace(trace::event::taken, done.source, done.tag, here.bytes(), waiting->order_);
  waiting->place_ = nullptr;
  waiting->set(std::move(here));
}

std::uint64_t mailbox_place::add(receive_state& waiting) {
  const std::size_t token = take_free(receives_, free_receive_);
  receives_[token].state = &waiting;
  waiting.place_ = this;
  waiting.token_ = token;
  waiting.order_ = ++asked_;
  return token;
}

void mailbox_place::trace(trace::event what, std::uint32_t source, std::int32_t tag, std::size_t bytes,
                          std::uint64_t receive) const {
  if (trace::recorder* const to = home().here().trace())
    to->add({.ticks = host::ticks(),
             .number = trace::mailbox_number(home().facts().id, receive),
             .bytes = static_cast<std::uint32_t>(bytes),
             .peer = source,
             .handler = static_cast<std::uint32_t>(tag),
             .what = what});
}

void mailbox_place::remove(std::uint64_t token) {
  receives_[token] = {.state = nullptr, .next_free = std::exchange(free_receive_, token)};
}

void mailbox_place::post(receive_state& waiting) {
  const std::uint64_t token = add(waiting);
  const auto done = receiver_.post(
      {.filter = waiting.wanted().filter, .capacity = std::numeric_limits<std::uint64_t>::max(), .token = token});
  if (done.has_value() && done->buffered) receiver_.consumed(done->buffer_bytes);
  answer(0);
  if (done.has_value()) finish(*done);
}

void mailbox_place::post_late(std::uint32_t slot, std::uint32_t generation) {
  if (auto* const waiting = static_cast<receive_state*>(home().objects().results.find(slot, generation)))
    post(*waiting);
}

void mailbox_place::give_up(receive_state& waiting) {
  waiting.place_ = nullptr;
  if (receiver_.withdraw(waiting.token_))
    remove(waiting.token_);
  else
    receives_[waiting.token_].state = nullptr;
}

// ---- looking

std::optional<message_info> mailbox_place::probe(const message_pattern& wanted) const {
  const auto* const found = receiver_.find(wanted.filter);
  if (found == nullptr) return std::nullopt;
  return message_info{static_cast<int>(found->source), found->tag, bytes_of(found->bytes)};
}

mailbox_statistics mailbox_place::statistics() const {
  return {.memory_limit = receiver_.memory().limit(),
          .memory_used = receiver_.memory().used(),
          .memory_peak = receiver_.memory().most_used(),
          .buffered_bytes = buffered_bytes_,
          .recorded = receiver_.recorded(),
          .posted = receiver_.posted(),
          .unsent = sender_.pending(),
          .requests = receiver_.count().requests,
          .eager = eager_,
          .refusals = receiver_.count().refusals,
          .stale = receiver_.count().stale,
          .restarts = receiver_.count().restarts};
}

std::string mailbox_place::describe_unclaimed() const {
  std::string text;
  if (const auto* const first = receiver_.find({}))
    text += fmt::format("; messages that it does not take are here: {}, the first from PE {} with tag {}",
                        receiver_.recorded(), first->source, first->tag);
  if (receiver_.marked() != 0) text += fmt::format("; senders whose messages have no room: {}", receiver_.marked());
  return text;
}

}  // namespace tri::objects
