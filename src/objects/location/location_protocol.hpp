// Where the elements of one collection are, as one PE sees it: a map from element to element_route that has an entry
// only where the route differs from the initial placement, and a set of the elements that were deleted here. One per
// (PE, collection), used only by that PE's thread. Holds no payload and sends nothing: the caller carries out the
// actions (see README.md for the duties of the caller).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "objects/location/element_route.hpp"
#include "objects/location/number_set.hpp"

namespace tri::objects {

enum class population : std::uint8_t {
  dense,   // every index has its element from the beginning, at its home
  sparse,  // elements are inserted; until then the home holds their messages
};

// Key: an integer. Placement: pe_number(const Key&), a pure function that gives the same home on every PE.
template <class Key, class Placement, class Hash = std::hash<Key>>
class location_protocol {
 public:
  location_protocol(pe_number self, population initial, Placement placement)
      : self_(self), initial_(initial), placement_(std::move(placement)) {}

  // The PE to hand an ordinary message to directly (this one: the element is here), or no_pe: call on_send.
  pe_number fast_route(const Key& key) const {
    if (!routes_.empty()) {
      if (auto found = routes_.find(key); found != routes_.end()) return found->second.fast_route();
    }
    const pe_number home = placement_(key);
    return (home == self_ && initial_ == population::sparse) || is_dead(key) ? no_pe : home;
  }

  // True: an arrived message may be delivered at once; otherwise it must be passed to on_arrival.
  bool is_local_ready(const Key& key) const { return fast_route(key) == self_; }
  // True: the element was never created, and this PE, its home, holds its messages.
  bool is_absent(const Key& key) const { return current(key).is_absent(); }
  // True while every route is the initial placement: fast_route is then the placement itself.
  bool all_default() const { return routes_.empty() && dead_.empty(); }

  void on_send(const Key& key, message_ref message, location_actions& out) {
    apply(key, out, [&](element_route& r) { r.on_send(message, out); });
  }
  void on_arrival(const Key& key, pe_number from, message_ref message, bool backlog, location_actions& out) {
    apply(key, out, [&](element_route& r) { r.on_arrival(from, message, backlog, out); });
  }
  void on_control(const Key& key, pe_number from, const location_control& control, location_actions& out) {
    apply(key, out, [&](element_route& r) { r.on_control(from, control, out); });
  }
  // The element is installed here; the actions deliver the messages held for it.
  void on_element_arrived(const Key& key, pe_number from, location_actions& out) {
    apply(key, out, [&](element_route& r) { r.on_element_arrived(from, out); });
  }

  // The action `depart` follows when the target has stopped sending; the last of several requests counts, the own PE
  // withdraws. False: the element is not here.
  [[nodiscard]] bool migrate(const Key& key, pe_number to, location_actions& out) {
    bool accepted = false;
    apply(key, out, [&](element_route& r) { accepted = r.migrate(to, out); });
    return accepted;
  }
  // The action `inserted` or `insert_refused` follows, perhaps in a later call. False: refused at once.
  [[nodiscard]] bool insert(const Key& key, location_actions& out) {
    bool accepted = false;
    apply(key, out, [&](element_route& r) { accepted = r.insert(out); });
    return accepted;
  }
  // From now on its messages are dead letters, until it is inserted again. False: the element is not here.
  [[nodiscard]] bool erase(const Key& key, location_actions& out) {
    bool accepted = false;
    apply(key, out, [&](element_route& r) { accepted = r.erase(out); });
    return accepted;
  }

  // After erase, of an element that was inserted here, away from its home, has never moved and is never inserted again:
  // its home remembers it from now on, with its neighbours, and this PE forgets it.
  void bury(const Key& key, location_actions& out) {
    apply(key, out, [&](element_route& r) { r.bury(placement_(key), out); });
  }

  // After a restart, before any message: where the element is. At the home and at the place itself; the other PEs find
  // it by way of the home. no_pe: it was deleted; at the home.
  void begin_at(const Key& key, pe_number place, location_actions& out) {
    apply(key, out, [&](element_route& r) {
      r = place == no_pe   ? element_route::deleted_at(self_)
          : place == self_ ? element_route::at_home(self_, true)
                           : element_route::elsewhere(self_, place);
    });
  }
  // Calls visit(first, last) for the ranges of elements that were deleted here.
  template <class Visit>
  void visit_dead(Visit&& visit) const {
    dead_.visit_ranges(visit);
  }

  // At the end: passes every held message to `drop`. No other calls may follow.
  template <class Drop>
  void drop_held(Drop&& drop) {
    for (auto& [key, route] : std::exchange(routes_, {})) route.visit_held(drop);
  }

  // ---- for reports and tests
  std::size_t entries() const { return routes_.size(); }
  std::size_t ranges_of_dead() const { return dead_.ranges(); }
  std::size_t held_messages() const {
    std::size_t sum = 0;
    for (const auto& [key, route] : routes_) sum += route.held_messages();
    return sum;
  }
  bool is_settled() const {
    for (const auto& [key, route] : routes_) {
      if (!route.is_settled()) return false;
    }
    return true;
  }
  std::string describe(const Key& key) const { return current(key).describe(); }
  template <class Put>
  void encode(const Key& key, Put&& put) const {
    current(key).encode(put);
  }

 private:
  bool is_dead(const Key& key) const { return !dead_.empty() && dead_.contains(static_cast<std::uint64_t>(key)); }
  // The state of a key without an entry.
  element_route initial(const Key& key) const {
    return is_dead(key) ? element_route::deleted_at(self_) : never_touched(key);
  }
  element_route never_touched(const Key& key) const {
    const pe_number home = placement_(key);
    return home == self_ ? element_route::at_home(self_, initial_ == population::dense)
                         : element_route::elsewhere(self_, home);
  }
  element_route current(const Key& key) const {
    auto found = routes_.find(key);
    return found == routes_.end() ? initial(key) : found->second;
  }

  // Every event goes through here: finds or makes the entry, reports a changed fast route, drops a needless entry.
  template <class Event>
  void apply(const Key& key, location_actions& out, Event&& event) {
    const auto first = initial(key);
    const auto entry = routes_.try_emplace(key, first).first;
    auto& route = entry->second;
    const pe_number before = route.fast_route();
    event(route);
    const pe_number after = route.fast_route();
    if (after != before) out.push_back({.kind = location_action_kind::route_changed, .peer = after});
    if (route.equals(element_route::deleted_at(self_))) {
      dead_.insert(static_cast<std::uint64_t>(key));
      routes_.erase(entry);
      return;
    }
    if (is_dead(key)) dead_.erase(static_cast<std::uint64_t>(key));
    if (route.equals(never_touched(key))) routes_.erase(entry);
  }

  pe_number self_;
  population initial_;
  Placement placement_;
  std::unordered_map<Key, element_route, Hash> routes_;
  number_set dead_;  // deleted here, without further state; never at the same time in routes_
};

}  // namespace tri::objects
