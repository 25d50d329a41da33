// One PE's view of one element of an object array: where its messages go, and messages held until they may go there. A
// pure state machine: events in, actions out, no I/O, no clock, no memory shared with anything. Owned by the
// location_protocol of its (PE, collection) and used only by that PE's thread. README.md has the transition table and
// the argument for the order; the idea of a marker that pushes a channel empty is Chandy and Lamport's (1985).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/detail/location/location_action.hpp"

namespace tri::objects {

class element_route {
 public:
  enum class state : std::uint8_t {
    local,     // the element is here
    filling,   // the element was created here; messages held for it elsewhere are still coming
    dying,     // deleted here, while a PE told to prepare for it has not answered yet
    dead,      // deleted here: this PE represents the element
    absent,    // never created: this PE, the home, represents the element and holds its messages
    open,      // messages go to `target`
    flushing,  // a flush is in flight along `target`; messages are held
  };

  static element_route at_home(pe_number self, bool exists);
  static element_route elsewhere(pe_number self, pe_number home);
  static element_route deleted_at(pe_number self);

  void on_send(message_ref message, location_actions& out) { take_message(self_, message, out); }
  void on_arrival(pe_number from, message_ref message, bool backlog, location_actions& out);
  void on_control(pe_number from, const location_control& control, location_actions& out);
  void on_element_arrived(pe_number from, location_actions& out);
  [[nodiscard]] bool migrate(pe_number to, location_actions& out);
  [[nodiscard]] bool insert(location_actions& out);
  [[nodiscard]] bool erase(location_actions& out);
  void bury(pe_number home, location_actions& out);

  // The PE to which ordinary messages can be sent without the state machine; no_pe: it must decide.
  pe_number fast_route() const;
  bool is_local() const { return state_ == state::local; }
  bool is_absent() const { return state_ == state::absent; }
  // Nothing is held and no answer is awaited.
  bool is_settled() const;
  // No different from the route that a PE without an entry assumes, so the entry can be dropped.
  bool equals(const element_route& initial) const;
  std::size_t held_messages() const;
  template <class Visit>
  void visit_held(Visit&& visit) const {
    for (const auto& item : held_)
      if (item.is_message) visit(item.message);
  }
  std::string describe() const;

  // Hands every word of the state to `put`; two routes behave alike if and only if they put the same words.
  template <class Put>
  void encode(Put&& put) const {
    for (auto word : {std::int64_t(state_), std::int64_t(want_insert_), std::int64_t(doomed_), std::int64_t(answered_),
                      std::int64_t(target_), std::int64_t(prepared_by_), std::int64_t(asked_), std::int64_t(wanted_),
                      std::int64_t(owed_), std::int64_t(next_announced_), std::int64_t(held_.size())}) {
      put(word);
    }
    for (auto pe : announced_) put(std::int64_t(pe));
    for (const auto& item : held_) {
      put(item.is_message ? std::int64_t(item.from) : -1 - std::int64_t(item.flush.origin));
      put(item.is_message ? std::int64_t(item.message)
                          : std::int64_t(item.flush.signal) * 2 + std::int64_t(item.flush.prepared));
    }
  }

 private:
  struct held_item {
    bool is_message;
    pe_number from;          // message: the previous hop
    message_ref message;     // message only
    location_control flush;  // flush, flush_insert only
  };

  element_route(pe_number self, state initial, pe_number target) : self_(self), target_(target), state_(initial) {}

  void take_message(pe_number from, message_ref message, location_actions& out);
  void take_backlog(message_ref message, location_actions& out);
  void take_flush(const location_control& flush, location_actions& out);
  void answer_at_element(const location_control& flush, location_actions& out);
  void answer_at_dying(const location_control& flush, location_actions& out);
  void answer_at_dead(const location_control& flush, location_actions& out);
  bool answers_us(const location_control& flush) const;
  static bool wants_insert(const location_control& flush);
  void grant(pe_number origin, location_actions& out);
  void on_granted(std::int32_t owed, location_actions& out);
  void on_buried(pe_number from);
  void on_prepare(pe_number from, location_actions& out);
  void start_flush(pe_number via, location_actions& out);
  void settle(pe_number place, location_actions& out);
  void open_via(pe_number place, location_actions& out);
  void become_local(location_actions& out);
  void finish_filling(location_actions& out);
  void ask_to_prepare(location_actions& out);
  void retry_insert(location_actions& out);
  void release_held(location_actions& out);
  void announce_move(pe_number hop, location_actions& out);
  [[noreturn]] void fail(const char* event) const;

  static void put_control(pe_number to, location_control control, location_actions& out);

  pe_number self_;
  pe_number target_;               // open, flushing
  pe_number prepared_by_ = no_pe;  // flushing: the element's place, which waits for our flush to send us the element
  pe_number answered_ = no_pe;     // flushing: the PE whose `prepare` the flush answers, so that it ends there
  pe_number asked_ = no_pe;        // local, dying: the PE told to prepare whose flush has not arrived yet
  pe_number wanted_ = no_pe;       // local, filling: where the element is to go
  std::int32_t owed_ = 0;          // filling: backlog still to come; flushing: minus those that came before the grant
  // The last few hops notified that the element moved. It only saves repeated notices, so a fixed size is enough.
  std::array<pe_number, 4> announced_{no_pe, no_pe, no_pe, no_pe};
  std::uint8_t next_announced_ = 0;
  state state_;
  bool want_insert_ = false;     // an insertion requested here has no answer yet
  bool doomed_ = false;          // filling: deleted meanwhile
  std::vector<held_item> held_;  // in order of arrival; dying: the parked insertions
};

}  // namespace tri::objects
