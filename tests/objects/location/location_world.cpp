// See location_world.hpp.
#include "location_world.hpp"

namespace tri::objects {

namespace {
// message_ref of the tests: sender, number, and whether it may overtake
constexpr message_ref loose_bit = 1U << 31U;
message_ref name_of(pe_number pe, std::uint32_t number, bool loose) {
  return (static_cast<message_ref>(pe) << 32U) | number | (loose ? loose_bit : 0U);
}
pe_number sender_of(message_ref message) { return static_cast<pe_number>(message >> 32U); }
std::string told(pe_number pe, int element) {
  return " (PE " + std::to_string(pe) + ", element " + std::to_string(element) + ")";
}
}  // namespace

location_world::location_world(const scenario& what)
    : what_(&what),
      next_line_(what.scripts.size(), 0),
      ledger_(at(what.pes) * what.homes.size()),
      place_(what.homes.size(), nowhere) {
  for (pe_number pe = 0; pe < what.pes; ++pe) protocols_.emplace_back(pe, what.initial, home_of{&what});
  if (what.initial == population::dense) place_.assign(what.homes.begin(), what.homes.end());
  const bool single = what.order == channel_order::one_inbox;
  channels_.resize(at(what.pes) * (single ? 1U : at(what.pes)));
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    channel_to_.push_back(static_cast<pe_number>(single ? c : c % at(what.pes)));
  }
}

std::size_t location_world::channel(pe_number from, pe_number to) const {
  return what_->order == channel_order::one_inbox ? at(to) : at(from) * at(what_->pes) + at(to);
}

// ---- what can happen

bool location_world::can_run(const script_line& line) const {
  using enum script_line::type;
  const int place = place_[at(line.element)];
  return (line.what != migrate && line.what != erase) || place >= 0 || place == erased;
}

bool location_world::may_overtake(const std::vector<packet>& queue, std::size_t position) const {
  if (position == 0 || what_->order == channel_order::none) return true;
  return queue[position].kind == packet::type::message && (queue[position].message & loose_bit) != 0;
}

const std::vector<location_world::choice>& location_world::possible() const {
  if (choices_known_) return choices_;
  choices_.clear();
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    for (std::size_t p = 0; p < channels_[c].size(); ++p) {
      if (may_overtake(channels_[c], p)) choices_.push_back({true, c, p});
    }
  }
  for (std::size_t s = 0; s < next_line_.size(); ++s) {
    const auto& lines = what_->scripts[s];
    if (next_line_[s] < lines.size() && can_run(lines[next_line_[s]])) choices_.push_back({false, s, 0});
  }
  choices_known_ = true;
  return choices_;
}

void location_world::take(int step) {
  const choice what = possible()[at(step)];
  choices_known_ = false;
  if (!what.deliver) return run(what_->scripts[what.index][next_line_[what.index]++]);
  auto& queue = channels_[what.index];
  const auto item = queue.begin() + static_cast<std::ptrdiff_t>(what.position);
  const packet came = *item;
  queue.erase(item);
  arrive(channel_to_[what.index], came);
}

// ---- what programs do

void location_world::run(const script_line& line) {
  using enum script_line::type;
  const int place = place_[at(line.element)];
  switch (line.what) {
    case send:
    case send_overtaking:
      return this->send(line.pe, line.element, line.what == send_overtaking);
    case insert:
      if (!protocols_[at(line.pe)].insert(line.element, actions_)) return;
      ledger(line.pe, line.element).inserting = true;
      carry_out(line.pe, line.element);
      return;
    case migrate:
      if (place < 0) return;
      if (!protocols_[at(place)].migrate(line.element, line.pe, actions_)) throw std::logic_error("migration refused");
      return carry_out(place, line.element);
    case erase:
      if (place < 0) return;
      if (!protocols_[at(place)].erase(line.element, actions_)) throw std::logic_error("deletion refused");
      place_[at(line.element)] = erased;
      carry_out(place, line.element);
      if (!what_->buries) return;
      protocols_[at(place)].bury(line.element, actions_);
      return carry_out(place, line.element);
  }
}

void location_world::send(pe_number pe, int element, bool overtaking) {
  auto& book = ledger(pe, element);
  const message_ref message = name_of(pe, book.sent, overtaking);
  if (overtaking) book.loose |= std::uint64_t{1} << book.sent;
  ++book.sent;
  ++sent_total_;
  auto& machine = protocols_[at(pe)];
  const pe_number route = machine.fast_route(element);
  if (route == pe) return account_for(pe, element, message, true);
  if (route != no_pe) {
    return put(pe, route, {packet::type::message, false, static_cast<std::int8_t>(element), pe, message, {}});
  }
  machine.on_send(element, message, actions_);
  carry_out(pe, element);
}

// ---- what the channels bring

void location_world::put(pe_number from, pe_number to, packet what) {
  if (to < 0 || to >= what_->pes || (to == from && what_->broken == fault::none)) {
    throw std::logic_error("sent to PE " + std::to_string(to) + told(from, what.element));
  }
  if (what.kind == packet::type::message) ++hops_;
  if (what.kind == packet::type::control) ++controls_;
  channels_[channel(from, to)].push_back(what);
}

// The faults that answer a flush of PE 0 too early. Returns true where it did.
bool location_world::short_circuit(pe_number at_pe, const packet& what) {
  if (what_->broken != fault::flush_by_first_hop || what.kind != packet::type::control ||
      what.control.signal != location_signal::flush || what.control.origin != 0) {
    return false;
  }
  const pe_number next = protocols_[at(at_pe)].fast_route(what.element);
  if (next == no_pe || next == at_pe) return false;
  put(at_pe, 0, {packet::type::control, false, what.element, next, 0, {.signal = location_signal::flushed}});
  return true;
}

void location_world::arrive(pe_number at_pe, const packet& what) {
  if (short_circuit(at_pe, what)) return;
  auto& machine = protocols_[at(at_pe)];
  switch (what.kind) {
    case packet::type::message:
      if (!what.backlog && machine.is_local_ready(what.element)) {
        return account_for(at_pe, what.element, what.message, true);
      }
      machine.on_arrival(what.element, what.from, what.message, what.backlog, actions_);
      break;
    case packet::type::control:
      machine.on_control(what.element, what.from, what.control, actions_);
      break;
    case packet::type::element:
      place_[at(what.element)] = at_pe;
      ++moves_;
      machine.on_element_arrived(what.element, what.from, actions_);
      break;
  }
  carry_out(at_pe, what.element);
}

void location_world::carry_out(pe_number pe, int element) {
  using enum location_action_kind;
  const auto actions = std::exchange(actions_, {});
  const auto name = static_cast<std::int8_t>(element);
  auto& place = place_[at(element)];
  for (const auto& action : actions) {
    switch (action.kind) {
      case deliver:
      case dead_letter:
        account_for(pe, element, action.message, action.kind == deliver);
        break;
      case location_action_kind::send: {
        const bool backlog = action.backlog && what_->broken != fault::backlog_bit_dropped;
        put(pe, action.peer, {packet::type::message, backlog, name, pe, action.message, {}});
        break;
      }
      case control:
        if (what_->broken == fault::flush_skipped && pe == 0 && action.control.signal == location_signal::flush) {
          const pe_number answered_by = place >= 0 ? place : what_->pes - 1;
          put(0, 0, {packet::type::control, false, name, answered_by, 0, {.signal = location_signal::flushed}});
          break;
        }
        put(pe, action.peer, {packet::type::control, false, name, pe, 0, action.control});
        if (what_->broken == fault::old_flush_is_answer)
          channels_[channel(pe, action.peer)].back().control.prepared = true;
        break;
      case depart:
        if (place != pe) throw std::logic_error("departure of an element that is elsewhere" + told(pe, element));
        place = in_transit;
        put(pe, action.peer, {packet::type::element, false, name, pe, 0, {}});
        break;
      case inserted:
        if (place != nowhere && place != erased) throw std::logic_error("two elements" + told(pe, element));
        place = pe;
        [[fallthrough]];
      case insert_refused:
        if (!std::exchange(ledger(pe, element).inserting, false)) {
          throw std::logic_error("an insertion nobody asked for" + told(pe, element));
        }
        break;
      case route_changed:
        if (action.peer != protocols_[at(pe)].fast_route(element)) throw std::logic_error("wrong route announced");
        break;
    }
  }
}

// ---- the specification

void location_world::account_for(pe_number pe, int element, message_ref message, bool alive) {
  auto& book = ledger(sender_of(message), element);
  const auto number = static_cast<std::uint32_t>(message & (loose_bit - 1U));
  if (alive && place_[at(element)] != pe)
    throw std::logic_error("delivered where the element is not" + told(pe, element));
  if (!alive && place_[at(element)] == pe) throw std::logic_error("dead letter for a live element" + told(pe, element));
  if (!alive) ++dead_;
  const std::uint64_t bit = std::uint64_t{1} << (number % 64U);
  if (!alive && what_->buries) {  // counts like one that may overtake
    if (((book.loose & bit) != 0 ? book.loose_fated & bit : 0) != 0)
      throw std::logic_error("duplicated message" + told(pe, element));
    book.loose |= bit;
    book.loose_fated |= bit;
    return;
  }
  if ((message & loose_bit) != 0) {
    if ((book.loose_fated & bit) != 0) throw std::logic_error("duplicated message" + told(pe, element));
    book.loose_fated |= bit;
    return;
  }
  while ((book.loose & (std::uint64_t{1} << (book.fated % 64U))) != 0) ++book.fated;  // not in the order
  if (number != book.fated) {
    throw std::logic_error("order broken: message " + std::to_string(number) + " instead of " +
                           std::to_string(book.fated) + " of PE " + std::to_string(sender_of(message)) +
                           told(pe, element));
  }
  ++book.fated;
}

void location_world::check_end() const {
  for (std::size_t s = 0; s < next_line_.size(); ++s) {
    if (next_line_[s] != what_->scripts[s].size()) throw std::logic_error("a script cannot go on");
  }
  for (std::size_t i = 0; i < ledger_.size(); ++i) {
    const auto& book = ledger_[i];
    std::uint32_t fated = book.fated;
    while ((book.loose & (std::uint64_t{1} << (fated % 64U))) != 0) ++fated;
    if (fated != book.sent || book.loose != book.loose_fated) throw std::logic_error("a message was lost");
    if (book.inserting) throw std::logic_error("an insertion without outcome");
  }
  for (pe_number pe = 0; pe < what_->pes; ++pe) {
    const auto& machine = protocols_[at(pe)];
    if (machine.is_settled() && machine.held_messages() == 0) continue;
    std::string text = "routes not settled on PE " + std::to_string(pe);
    for (int e = 0; e < static_cast<int>(place_.size()); ++e) text += "; " + machine.describe(e);
    throw std::logic_error(text);
  }
  for (std::size_t e = 0; e < place_.size(); ++e) {
    const int element = static_cast<int>(e);
    if (place_[e] == in_transit) throw std::logic_error("an element is lost");
    for (pe_number pe = 0; pe < what_->pes; ++pe) {  // every route leads to the element, in at most one round
      pe_number here = pe;
      for (int hop = 0; hop <= what_->pes && place_[e] >= 0 && here != place_[e]; ++hop) {
        here = protocols_[at(here)].fast_route(element);
        if (here == no_pe || hop == what_->pes) throw std::logic_error("a route leads nowhere" + told(pe, element));
      }
    }
  }
}

std::size_t location_world::entries() const {
  std::size_t sum = 0;
  for (const auto& machine : protocols_) sum += machine.entries();
  return sum;
}

void location_world::encode(explore::fingerprint& state) const {
  const auto put_word = [&state](std::int64_t word) { state.put(static_cast<std::uint64_t>(word)); };
  for (const auto& machine : protocols_) {
    for (int e = 0; e < static_cast<int>(place_.size()); ++e) machine.encode(e, put_word);
  }
  for (const auto& queue : channels_) {
    put_word(static_cast<std::int64_t>(queue.size()));
    for (const auto& item : queue) {
      state.put(static_cast<std::uint64_t>(item.kind) * 2 + (item.backlog ? 1U : 0U) +
                static_cast<std::uint64_t>(item.control.signal) * 16 + (item.control.prepared ? 8U : 0U) +
                (static_cast<std::uint64_t>(static_cast<std::uint8_t>(item.element)) << 16U) +
                (static_cast<std::uint64_t>(static_cast<std::uint16_t>(item.from)) << 32U) +
                (static_cast<std::uint64_t>(static_cast<std::uint16_t>(item.control.origin)) << 48U));
      state.put(item.message);
      put_word(item.control.owed);
    }
  }
  for (auto line : next_line_) put_word(static_cast<std::int64_t>(line));
  for (const auto& book : ledger_) {
    put_word(book.fated * 2 + (book.inserting ? 1 : 0));
    put_word(static_cast<std::int64_t>(book.loose_fated));
  }
  for (auto place : place_) put_word(place + 4);
}

}  // namespace tri::objects
