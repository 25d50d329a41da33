#include "objects/messages/local_mailbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "flow/credit_cost.hpp"
#include "trace/recorder.hpp"
#include "trireme/mailbox.hpp"

namespace tri::objects {

using flow::packet;
using flow::packet_kind;

namespace {

// What data costs in the receiver's memory: a buffer has a header.
std::uint64_t cost_of(std::size_t bytes) { return bytes == 0 ? 0 : bytes + sizeof(tri::detail::buffer_header); }
std::size_t bytes_of(std::uint64_t cost) { return cost == 0 ? 0 : cost - sizeof(tri::detail::buffer_header); }

// Credits are counted in whole cache lines.
constexpr std::uint64_t line = flow::prediction::buffer_bytes(1);
constexpr std::uint32_t no_recall = std::numeric_limits<std::uint32_t>::max();

// Of a message that a receive waits for, a copy up to this size costs less than another round trip.
constexpr std::size_t largest_copied = 32768;

// One message uses at most a quarter of the pool, so that it serves several; larger ones are announced and fetched by
// the wire in any case, and gain nothing.
std::uint64_t largest_on_credit(std::uint64_t credits) {
  constexpr std::size_t largest = 131072;
  return std::min<std::uint64_t>(credits / 4, flow::credit_cost(cost_of(largest)));
}

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
    pattern.filter.source = static_cast<flow::peer_number>(source);
  }
  if (tag != any) {
    check_tag(tag);
    pattern.filter.tag = tag;
  }
  return pattern;
}

std::string message_pattern::describe() const {
  return fmt::format("{} with {}", filter.source == flow::any_source ? "any PE" : fmt::format("PE {}", filter.source),
                     filter.tag == flow::any_tag ? "any tag" : fmt::format("tag {}", filter.tag));
}

receive_state::~receive_state() {
  if (posted_at_ != nullptr) posted_at_->give_up(*this);
}

std::string receive_state::describe() const {
  return fmt::format("a receive from {} in mailbox {}{}", wanted_.describe(), mailbox_,
                     posted_at_ == nullptr ? std::string() : posted_at_->describe_unclaimed());
}

local_mailbox::local_mailbox(const mailbox_limits& limits)
    : limits_(limits),
      late_calls_(&home().objects().late_mailbox_calls(home().facts().id)),
      sender_(static_cast<std::size_t>(home().here().job().pes()), largest_on_credit(limits.credits)),
      // Half of the memory is kept for records: a message without one is requested repeatedly.
      receiver_(static_cast<std::size_t>(home().here().job().pes()), limits.memory, 64, flow::restart_pace::by_name,
                limits.memory / 2) {
  if (largest_on_credit(limits.credits) == 0) return;
  flow::prediction::credit_options options;
  options.largest_eager = largest_on_credit(limits.credits);
  options.pool_limit = std::min(limits.credits, line * (no_recall - 1));  // representable in a control message
  prediction_ = std::make_unique<predicted_credits>(static_cast<std::uint32_t>(home().here().job().pes()), options);
}

local_mailbox::~local_mailbox() {
  for (const posted_receive& one : receives_)
    if (one.state != nullptr) one.state->posted_at_ = nullptr;
}

// ---- sending

void local_mailbox::send(int to, int tag, message_contents contents) {
  const std::size_t token = take_free(unsent_, free_unsent_);
  const std::uint64_t cost = cost_of(contents.data.size());
  unsent_[token] = {.contents = std::move(contents)};
  out_.clear();
  sender_.send(static_cast<flow::peer_number>(to), {.token = token, .bytes = cost, .context = 0, .tag = tag}, out_);
  transmit(false);
}

void local_mailbox::take_answer(const answer_control& note) {
  packet answer;
  answer.kind = static_cast<packet_kind>(note.kind);
  switch (answer.kind) {
    case packet_kind::resend_one:
      answer.tag = static_cast<std::int32_t>(note.place);
      [[fallthrough]];
    case packet_kind::resend_all:
      answer.age = static_cast<std::uint32_t>(note.request);
      break;
    case packet_kind::ncts:
      answer.age = static_cast<std::uint32_t>(note.place);
      [[fallthrough]];
    default:
      answer.request = note.request;
      answer.place = note.place;
  }
  if (note.granted_lines != 0 || note.recalled_lines != no_recall)
    noted(note.source, {note.granted_lines * line, note.recalled_lines == no_recall ? 0 : note.recalled_lines * line});
  out_.clear();
  sender_.on_packet(note.source, answer, out_);
  transmit(note.has_data != 0);
}

void local_mailbox::noted(std::uint32_t from, const flow::prediction::credit_control& note) try {
  if (const auto back = sender_.on_credit(from, note))
    at(from).send<&local_mailbox::take_returned_credit>(*back, static_cast<std::uint32_t>(number()));
} catch (const std::exception& error) {
  fail_half_way(error);
}

// A short message goes with its first request. If that is refused, later requests go without, as most repeated ones are
// refused again, unless a receive waits for it.
void local_mailbox::transmit(bool data_is_there) try {
  const auto own = static_cast<std::uint32_t>(number());
  for (const flow::outgoing& one : out_) {
    unsent_message& message = unsent_[one.message];
    if (one.what.kind == packet_kind::rts) {
      request_control note{.request = one.what.request,
                           .bytes = one.what.bytes,
                           .age = one.what.age,
                           .tag = one.what.tag,
                           .source = own & ((1U << 29U) - 1),
                           .none_asleep = one.what.none_asleep ? 1U : 0U,
                           .paid = static_cast<std::uint32_t>(one.what.paid) & 3U,
                           .granted_lines = 0};
      if (prediction_ != nullptr)
        note.granted_lines = static_cast<std::uint32_t>(prediction_->in.credits().grants_leaving_to(one.to) / line);
      if (one.what.paid == flow::payment::here) {
        at(one.to).send<&local_mailbox::take_on_credit>(note, message.contents.type, std::move(message.contents.data));
      } else if (one.what.paid == flow::payment::before ||
                 (one.what.is_wanted ? message.contents.data.size() > largest_copied
                                     : message.was_offered || message.contents.data.size() > limits_.eager_bytes)) {
        at(one.to).send<&local_mailbox::take_request>(note);
      } else {
        message.was_offered = true;
        at(one.to).send<&local_mailbox::take_eager>(note, message.contents.type, message.contents.data.clone());
      }
      continue;
    }
    if (!data_is_there)
      at(one.to).send<&local_mailbox::take_data>(data_control{one.what.place, own, message.contents.type},
                                                 std::move(message.contents.data));
    message = {};
    message.next_free = std::exchange(free_unsent_, one.message);
  }
} catch (const std::exception& error) {
  fail_half_way(error);
}

// The state machines have already recorded the message as sent.
void local_mailbox::fail_half_way(const std::exception& error) {
  home().here().job().fail(
      fmt::format("mailbox {} on PE {} cannot go on: {}", home().facts().id, home().here().number(), error.what()));
}

// ---- receiving

namespace {

packet request_of(const local_mailbox::request_control& note) {
  packet rts;
  rts.paid = static_cast<flow::payment>(note.paid);
  rts.none_asleep = note.none_asleep != 0;
  rts.age = note.age;
  rts.tag = note.tag;
  rts.request = note.request;
  rts.bytes = note.bytes;
  return rts;
}

}  // namespace

void local_mailbox::requested(const request_control& note, message_contents* eager) {
  if (note.granted_lines != 0) noted(note.source, {note.granted_lines * line, 0});
  if (request_of(note).paid == flow::payment::before) return requested_paid(note);
  const flow::decision made = receiver_.on_request(note.source, request_of(note));
  using flow::verdict;
  if (made.what != verdict::refused && made.what != verdict::stale)  // those are sent again
    trace(trace::event::incoming, note.source, note.tag, bytes_of(note.bytes), 0);
  if (eager != nullptr) {
    ++eager_;
    if (made.what == verdict::to_receive || made.what == verdict::buffered)
      return arrived(note.source, made.place, std::move(*eager), made.place);
  }
  answer(0);
}

// Its memory was granted, so it is kept even if the request is refused, to keep the order.
void local_mailbox::take_on_credit(const request_control& note, std::uint32_t type, buffer<std::byte> data) {
  if (note.granted_lines != 0) noted(note.source, {note.granted_lines * line, 0});
  ++prediction_->on_credit;
  prediction_->in.credits().arrived(note.source, flow::credit_cost(note.bytes));
  prediction_->parked[{note.source, note.request}] = {type, std::move(data)};
  requested_paid(note);
}

void local_mailbox::requested_paid(const request_control& note) {
  const auto here = prediction_->parked.find({note.source, note.request});
  if (here == prediction_->parked.end())
    throw flow::protocol_error(note.source, packet_kind::rts, "its data should be here and is not");
  const flow::decision made = receiver_.on_request(note.source, request_of(note));
  if (made.what == flow::verdict::refused || made.what == flow::verdict::stale) return answer(0);
  trace(trace::event::incoming, note.source, note.tag, bytes_of(note.bytes), 0);
  message_contents contents = std::move(here->second);
  prediction_->parked.erase(here);
  arrived(note.source, made.place, std::move(contents), made.place);
}

void local_mailbox::take_returned_credit(std::uint64_t bytes, std::uint32_t source) {
  ++prediction_->recalls;
  prediction_->in.credits().given_back(source, bytes);
}

void local_mailbox::take_data(const data_control& note, buffer<std::byte> data) {
  ++rendezvous_;
  arrived(note.source, note.place, {note.type, std::move(data)}, 0);
}

void local_mailbox::arrived(std::uint32_t from, std::uint64_t place, message_contents contents,
                            std::uint64_t came_with_request) {
  packet data;
  data.kind = packet_kind::data;
  data.place = place;
  data.bytes = cost_of(contents.data.size());
  buffered_bytes_ += contents.data.size();
  arrived_.emplace(place, std::move(contents));
  const auto done = receiver_.on_data(from, data);
  if (done.has_value() && done->buffered && !done->is_paid) receiver_.consumed(done->buffer_bytes);
  answer(came_with_request);
  if (done.has_value()) finish(*done);
}

// The packets that result from an event. Nothing else comes in between, so there is always room for the next answer.
void local_mailbox::answer(std::uint64_t came_with_request) try {
  const auto own = static_cast<std::uint32_t>(number());
  while (const auto next = receiver_.next_packet()) {
    const packet& what = next->what;
    const bool has_data = what.kind == packet_kind::cts && what.place == came_with_request;
    const bool is_restart = what.kind == packet_kind::resend_all || what.kind == packet_kind::resend_one;
    answer_control note{.request = is_restart ? what.age : what.request,
                        .place = what.kind == packet_kind::ncts         ? what.age
                                 : what.kind == packet_kind::resend_one ? static_cast<std::uint32_t>(what.tag)
                                                                        : what.place,
                        .granted_lines = 0,
                        .recalled_lines = no_recall,
                        .source = own,
                        .kind = static_cast<std::uint16_t>(what.kind),
                        .has_data = static_cast<std::uint16_t>(has_data ? 1 : 0)};
    if (prediction_ != nullptr) {
      const auto credit = prediction_->in.credits().leaving_to(next->to);
      note.granted_lines = static_cast<std::uint32_t>(credit.granted / line);
      if (credit.recalled != 0) note.recalled_lines = static_cast<std::uint32_t>(credit.recalled / line);
    }
    at(next->to).send<&local_mailbox::take_answer>(note);
  }
} catch (const std::exception& error) {
  fail_half_way(error);
}

// Last step of an event: a resumed coroutine may call us.
void local_mailbox::finish(const flow::delivery& done) {
  const auto found = arrived_.find(done.place);
  received_message here(static_cast<int>(done.source), done.tag, std::move(found->second));
  arrived_.erase(found);
  buffered_bytes_ -= here.bytes();
  receive_state* const waiting = receives_[done.receive].state;
  if (prediction_ != nullptr) predict(receives_[done.receive], done);
  remove(done.receive);
  if (waiting == nullptr) return;
  trace(trace::event::taken, done.source, done.tag, here.bytes(), waiting->order_);
  waiting->posted_at_ = nullptr;
  waiting->set(std::move(here));
}

void local_mailbox::predict(const posted_receive& served, const flow::delivery& done) {
  const std::uint64_t price = flow::credit_cost(done.bytes);
  if (done.is_paid) prediction_->in.credits().released(done.source, price);
  prediction_->order.served(served.number, done.source, price,
                            [this](std::uint32_t sender, std::uint64_t size) { report_prediction(sender, size); });
}

void local_mailbox::report_prediction(std::uint32_t sender, std::uint64_t size) try {
  for (const flow::prediction::credit_message& one : prediction_->in.received(sender, size)) {
    ++prediction_->notes;
    at(one.peer).send<&local_mailbox::take_credit>(
        credit_control{one.note.granted, one.note.recalled, static_cast<std::uint32_t>(number())});
  }
} catch (const std::exception& error) {
  fail_half_way(error);
}

std::uint64_t local_mailbox::add(receive_state& waiting) {
  const std::size_t token = take_free(receives_, free_receive_);
  receives_[token].state = &waiting;
  if (prediction_ != nullptr) receives_[token].number = prediction_->order.made();
  waiting.posted_at_ = this;
  waiting.token_ = token;
  waiting.order_ = ++asked_;
  return token;
}

void local_mailbox::trace(trace::event what, std::uint32_t source, std::int32_t tag, std::size_t bytes,
                          std::uint64_t receive) const {
  if (trace::recorder* const to = home().here().trace())
    to->add({.ticks = os::ticks(),
             .number = trace::mailbox_number(home().facts().id, receive),
             .bytes = static_cast<std::uint32_t>(bytes),
             .peer = source,
             .handler = static_cast<std::uint32_t>(tag),
             .what = what});
}

void local_mailbox::remove(std::uint64_t token) {
  receives_[token] = {.state = nullptr, .next_free = std::exchange(free_receive_, token)};
}

void local_mailbox::post(receive_state& waiting) {
  const std::uint64_t token = add(waiting);
  const auto done = receiver_.post(
      {.filter = waiting.wanted().filter, .capacity = std::numeric_limits<std::uint64_t>::max(), .token = token});
  if (done.has_value() && done->buffered && !done->is_paid) receiver_.consumed(done->buffer_bytes);
  answer(0);
  if (done.has_value()) finish(*done);
}

void local_mailbox::post_late(std::uint32_t slot, std::uint32_t generation) {
  --*late_calls_;
  if (auto* const waiting = static_cast<receive_state*>(home().objects().results.find(slot, generation)))
    post(*waiting);
}

void local_mailbox::give_up(receive_state& waiting) {
  waiting.posted_at_ = nullptr;
  if (!receiver_.withdraw(waiting.token_)) {
    receives_[waiting.token_].state = nullptr;
    return;
  }
  if (prediction_ != nullptr) prediction_->order.given_up(receives_[waiting.token_].number);
  remove(waiting.token_);
}

void release_mailbox_memory(std::uint32_t mailbox, int pe, std::uint64_t bytes) noexcept {
  sched::pe* const here = sched::detail::this_pe;
  if (here == nullptr) {
    if (auto* const job = sched::current_runtime())
      job->fail(fmt::format("memory of mailbox {} (tri::mailbox_memory) ended on a thread that is not a PE", mailbox));
    return;
  }
  if (here->upper == nullptr || pe_objects::of(*here).is_ending()) return;
  try {
    const element_ref<local_mailbox> owner(mailbox, static_cast<std::uint64_t>(pe));
    if (auto* const part = owner.local())
      part->release_memory(bytes);
    else
      owner.send<&local_mailbox::release_memory>(bytes);
  } catch (const std::exception& error) {  // senders would wait for it
    here->job().fail(
        fmt::format("mailbox {}: {} bytes cannot be given back to PE {}: {}", mailbox, bytes, pe, error.what()));
  }
}

// ---- looking

std::optional<message_info> local_mailbox::probe(const message_pattern& wanted) const {
  const auto* const found = receiver_.find(wanted.filter);
  if (found == nullptr) return std::nullopt;
  return message_info{static_cast<int>(found->source()), found->tag(), bytes_of(found->bytes)};
}

mailbox_statistics local_mailbox::statistics() const {
  mailbox_statistics seen{.memory_limit = receiver_.memory().limit(),
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
                          .restarts = receiver_.count().restarts,
                          .rendezvous = rendezvous_};
  if (prediction_ == nullptr) return seen;
  const auto& credits = prediction_->in.credits();
  seen.on_credit = prediction_->on_credit;
  seen.credit_limit = credits.limit();
  seen.credit_used = credits.in_use();
  seen.credit_peak = credits.most_in_use();
  seen.credit_control_messages = prediction_->notes;
  seen.credit_recalls = prediction_->recalls;
  return seen;
}

std::string local_mailbox::describe_unclaimed() const {
  std::string text;
  if (const auto* const first = receiver_.find({}))
    text += fmt::format("; messages that it does not take are here: {}, the first from PE {} with tag {}",
                        receiver_.recorded(), first->source(), first->tag());
  if (receiver_.marked() != 0) text += fmt::format("; senders whose messages have no room: {}", receiver_.marked());
  return text;
}

}  // namespace tri::objects
