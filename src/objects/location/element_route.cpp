// The transitions of element_route. Every function names the states it is about; README.md has them as one table.
#include "objects/location/element_route.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tri::objects {

using enum location_action_kind;

element_route element_route::at_home(pe_number self, bool exists) {
  return {self, exists ? state::local : state::absent, no_pe};
}

element_route element_route::deleted_at(pe_number self) { return {self, state::dead, no_pe}; }

element_route element_route::elsewhere(pe_number self, pe_number home) { return {self, state::open, home}; }

pe_number element_route::fast_route() const {
  if (state_ == state::local) return self_;
  return state_ == state::open ? target_ : no_pe;
}

bool element_route::is_settled() const {
  const bool resting = state_ == state::local || state_ == state::open || state_ == state::dead ||
                       (state_ == state::absent && held_.empty());
  return resting && !want_insert_ && asked_ == no_pe && wanted_ == no_pe;
}

bool element_route::equals(const element_route& initial) const {
  return is_settled() && state_ == initial.state_ && (state_ != state::open || target_ == initial.target_);
}

std::size_t element_route::held_messages() const {
  return static_cast<std::size_t>(
      std::count_if(held_.begin(), held_.end(), [](const auto& i) { return i.is_message; }));
}

// ---- messages

void element_route::on_arrival(pe_number from, message_ref message, bool backlog, location_actions& out) {
  if (backlog) {
    take_backlog(message, out);
  } else {
    take_message(from, message, out);
  }
}

void element_route::take_message(pe_number from, message_ref message, location_actions& out) {
  switch (state_) {
    case state::local:
      out.push_back({.kind = deliver, .message = message});
      return;
    case state::open:
      out.push_back({.kind = send, .peer = target_, .message = message});
      announce_move(from, out);
      return;
    case state::dying:
    case state::dead:
      out.push_back({.kind = dead_letter, .message = message});
      return;
    case state::absent:
    case state::flushing:
    case state::filling:
      held_.push_back({true, from, message, {}});
      return;
  }
}

void element_route::take_backlog(message_ref message, location_actions& out) {
  if (state_ == state::flushing && want_insert_) {
    // Only a message that may overtake arrives before its grant; it is unordered, so it waits with the others.
    --owed_;
    held_.push_back({true, self_, message, {}});
    return;
  }
  if (state_ != state::filling) fail("a backlog message");
  out.push_back({.kind = doomed_ ? dead_letter : deliver, .message = message});
  if (--owed_ == 0) finish_filling(out);
}

// Notifies the previous hop once in a while that its route is outdated. Lost or repeated notices cost time, never
// order.
void element_route::announce_move(pe_number hop, location_actions& out) {
  if (hop == self_ || std::find(announced_.begin(), announced_.end(), hop) != announced_.end()) return;
  announced_[next_announced_] = hop;
  next_announced_ = static_cast<std::uint8_t>((next_announced_ + 1U) % announced_.size());
  put_control(hop, {.signal = location_signal::moved}, out);
}

// ---- control messages

void element_route::on_control(pe_number from, const location_control& control, location_actions& out) {
  switch (control.signal) {
    case location_signal::moved:
      if (state_ == state::open && target_ == from) start_flush(from, out);
      return;
    case location_signal::flush:
    case location_signal::flush_insert:
      return take_flush(control, out);
    case location_signal::prepare:
      return on_prepare(from, out);
    case location_signal::granted:
      return on_granted(control.owed, out);
    case location_signal::buried:
      return on_buried(from);
    case location_signal::flushed:
      if (state_ != state::flushing) fail("flushed");
      return settle(from, out);
    case location_signal::refused:
      if (state_ != state::flushing || !want_insert_) fail("refused");
      want_insert_ = false;
      out.push_back({.kind = insert_refused});
      return settle(from, out);
    case location_signal::parked:
      if (state_ != state::flushing || !want_insert_) fail("parked");
      // Where another place has the element meanwhile and prepares us, that comes first.
      return prepared_by_ == no_pe ? open_via(from, out) : settle(from, out);
  }
}

// A flush behaves as a message does, so that it stays behind the messages sent before it, and ends where they end.
void element_route::take_flush(const location_control& flush, location_actions& out) {
  if (flush.origin == self_) fail("a flush that this PE sent itself");
  switch (state_) {
    case state::local:
      return answer_at_element(flush, out);
    case state::dying:
      return answer_at_dying(flush, out);
    case state::dead:
      return answer_at_dead(flush, out);
    case state::open:
      return put_control(target_, flush, out);
    case state::flushing:
    case state::filling:
      held_.push_back({false, no_pe, 0, flush});
      return;
    case state::absent:
      if (!wants_insert(flush)) fail("a flush");  // no PE learns of a move before the first insertion
      return grant(flush.origin, out);
  }
}

void element_route::answer_at_element(const location_control& flush, location_actions& out) {
  const pe_number origin = flush.origin;
  const bool prepared = answers_us(flush);
  if (prepared) asked_ = no_pe;
  if (prepared && wanted_ == origin) {
    // All that `origin` ever sent has been delivered and it sends nothing more: the element may appear there.
    wanted_ = no_pe;
    state_ = state::open;
    target_ = origin;
    out.push_back({.kind = depart, .peer = origin});
    return;
  }
  put_control(origin, {.signal = wants_insert(flush) ? location_signal::refused : location_signal::flushed}, out);
  if (prepared) ask_to_prepare(out);  // the request changed while `origin` prepared
}

// The element may not be re-created elsewhere while a PE believes that it is to receive it from here. An insertion is
// sent away rather than held, because its origin could be holding the very flush that is waited for.
void element_route::answer_at_dying(const location_control& flush, location_actions& out) {
  if (!answers_us(flush)) {
    const bool insert = wants_insert(flush);
    if (insert) held_.push_back({false, no_pe, 0, flush});
    return put_control(flush.origin, {.signal = insert ? location_signal::parked : location_signal::flushed}, out);
  }
  asked_ = no_pe;
  state_ = state::dead;
  const auto parked = std::exchange(held_, {});
  answer_at_dead(flush, out);
  for (const auto& item : parked) put_control(item.flush.origin, {.signal = location_signal::moved}, out);
  retry_insert(out);
}

void element_route::answer_at_dead(const location_control& flush, location_actions& out) {
  if (wants_insert(flush)) {
    grant(flush.origin, out);
  } else {
    put_control(flush.origin, {.signal = location_signal::flushed}, out);
  }
}

// Only a flush sent after `prepare` arrived counts: while it is in flight the element stays here, so no PE ever
// receives an outdated `prepare`.
bool element_route::answers_us(const location_control& flush) const { return flush.prepared && flush.origin == asked_; }

bool element_route::wants_insert(const location_control& flush) {
  return flush.signal == location_signal::flush_insert;
}

// absent, dead: `origin` represents the element from now on. Held messages follow the grant on the same channel.
void element_route::grant(pe_number origin, location_actions& out) {
  state_ = state::open;
  target_ = origin;
  const auto backlog = std::exchange(held_, {});
  put_control(origin, {.signal = location_signal::granted, .owed = static_cast<std::int32_t>(backlog.size())}, out);
  for (const auto& item : backlog) {
    out.push_back({.kind = send, .backlog = true, .peer = origin, .message = item.message});
    announce_move(item.from, out);
  }
}

void element_route::on_granted(std::int32_t owed, location_actions& out) {
  if (state_ != state::flushing || !want_insert_) fail("granted");
  want_insert_ = false;
  prepared_by_ = no_pe;
  answered_ = no_pe;
  state_ = state::filling;
  owed_ += owed;
  out.push_back({.kind = inserted});
  if (owed_ == 0) finish_filling(out);
}

void element_route::finish_filling(location_actions& out) {
  if (!std::exchange(doomed_, false)) return become_local(out);
  announced_.fill(no_pe);
  state_ = state::dead;
  release_held(out);
  retry_insert(out);
}

// ---- flushing

void element_route::start_flush(pe_number via, location_actions& out) {
  state_ = state::flushing;
  target_ = via;
  answered_ = prepared_by_;
  put_control(via,
              {.signal = want_insert_ ? location_signal::flush_insert : location_signal::flush,
               .prepared = answered_ != no_pe,
               .origin = self_},
              out);
}

void element_route::on_prepare(pe_number from, location_actions& out) {
  if (state_ != state::open && state_ != state::flushing) fail("prepare");
  prepared_by_ = from;
  if (state_ == state::open) start_flush(target_, out);
}

// Nothing of ours is in flight any more; `place` is where our flush found the element.
void element_route::settle(pe_number place, location_actions& out) {
  if (prepared_by_ == answered_) prepared_by_ = no_pe;  // no element came from there: none is expected any more
  if (prepared_by_ != no_pe) {
    start_flush(prepared_by_, out);  // its `prepare` came while an older flush was in flight
  } else if (want_insert_) {
    start_flush(place, out);
  } else {
    open_via(place, out);
  }
}

void element_route::open_via(pe_number place, location_actions& out) {
  answered_ = no_pe;
  state_ = state::open;
  target_ = place;
  release_held(out);
}

void element_route::become_local(location_actions& out) {
  announced_.fill(no_pe);  // they may rightly send here again
  state_ = state::local;
  release_held(out);
  ask_to_prepare(out);
}

void element_route::release_held(location_actions& out) {
  for (const auto& item : std::exchange(held_, {})) {
    if (item.is_message) {
      take_message(item.from, item.message, out);
    } else {
      take_flush(item.flush, out);
    }
  }
}

// ---- requests of the caller

void element_route::on_element_arrived(pe_number from, location_actions& out) {
  if (state_ != state::flushing || prepared_by_ != from || answered_ != from) fail("the element");
  prepared_by_ = no_pe;
  answered_ = no_pe;
  if (std::exchange(want_insert_, false)) out.push_back({.kind = insert_refused});
  become_local(out);
}

bool element_route::migrate(pe_number to, location_actions& out) {
  if (state_ != state::local && (state_ != state::filling || doomed_)) return false;
  wanted_ = to == self_ ? no_pe : to;
  if (state_ == state::local) ask_to_prepare(out);
  return true;
}

// local: one PE at a time is told to prepare, so that a prepared PE is always prepared for the element's current place.
void element_route::ask_to_prepare(location_actions& out) {
  if (wanted_ == no_pe || asked_ != no_pe) return;
  asked_ = wanted_;
  put_control(asked_, {.signal = location_signal::prepare}, out);
}

bool element_route::insert(location_actions& out) {
  if (want_insert_ || state_ == state::local || (state_ == state::filling && !doomed_)) return false;
  switch (state_) {
    case state::absent:
    case state::dead:
      out.push_back({.kind = inserted});
      become_local(out);
      break;
    case state::open:
      want_insert_ = true;
      start_flush(target_, out);
      break;
    default:  // flushing, dying, filling and doomed: when the pending operation has ended
      want_insert_ = true;
  }
  return true;
}

void element_route::retry_insert(location_actions& out) {
  if (std::exchange(want_insert_, false) && !insert(out)) fail("its own insertion");
}

bool element_route::erase(location_actions&) {
  if (state_ == state::filling && !doomed_) {
    doomed_ = true;
  } else if (state_ == state::local) {
    state_ = asked_ == no_pe ? state::dead : state::dying;
  } else {
    return false;
  }
  wanted_ = no_pe;
  return true;
}

// dead: where only the home has ever learned of this place by a grant, it can represent the element as well. What is
// on its way here turns back to it and meets the home behind this notice, so it is a dead letter there.
void element_route::bury(pe_number home, location_actions& out) {
  if (state_ != state::dead || home == self_) return;
  announced_.fill(no_pe);
  state_ = state::open;
  target_ = home;
  put_control(home, {.signal = location_signal::buried}, out);
}

void element_route::on_buried(pe_number from) {
  if (state_ != state::open || target_ != from) fail("buried");
  announced_.fill(no_pe);
  state_ = state::dead;
}

// ---- reporting

void element_route::put_control(pe_number to, location_control control, location_actions& out) {
  out.push_back({.kind = location_action_kind::control, .peer = to, .control = control});
}

std::string element_route::describe() const {
  static constexpr std::array names{"local", "filling", "dying", "dead", "absent", "open", "flushing"};
  std::string text = names[static_cast<std::size_t>(state_)];
  if (state_ == state::open || state_ == state::flushing) text += " via PE " + std::to_string(target_);
  if (prepared_by_ != no_pe) text += ", prepared for PE " + std::to_string(prepared_by_);
  if (asked_ != no_pe) text += ", asked PE " + std::to_string(asked_) + " to prepare";
  if (wanted_ != no_pe) text += ", wanted on PE " + std::to_string(wanted_);
  if (want_insert_) text += ", insertion requested";
  if (doomed_) text += ", deleted";
  if (owed_ != 0) text += ", owed " + std::to_string(owed_);
  if (!held_.empty()) text += ", holds " + std::to_string(held_.size());
  return text;
}

void element_route::fail(const char* event) const {
  throw std::logic_error("element location on PE " + std::to_string(self_) + ": received " + event + " while \"" +
                         describe() + "\"; control messages between two PEs must arrive once and in order");
}

}  // namespace tri::objects
