// The route of a multicast to the members of a section. Its sender sorts them by their presumed PEs. On its own host it
// sends to each of these; the other hosts are reached by a tree that crosses to each once (Mei 2012, M57). There one PE
// forwards the message to the PEs of its own process and to one PE of each other process. The forwarding PEs are chosen
// for each multicast (inner_vertices.hpp), so multicasts of one sender take different routes; those that cross are
// numbered per receiving PE, which puts them in order (reorder_buffer.hpp).
//
// A member that has moved meanwhile gets a message of its own, and the sender is notified: its next multicast uses the
// new location.
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/location/location_action.hpp"
#include "trireme/detail/objects/arguments.hpp"
#include "trireme/detail/objects/inner_vertices.hpp"
#include "trireme/detail/objects/multicast_plan.hpp"
#include "trireme/detail/objects/part_of_subtree.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/objects/post.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

/// Members of a section on one PE, by number; sent with the message without a copy. They are followed by the number of
/// the multicast for that PE; 0 if it did not cross.
using member_list = shared_buffer<std::uint64_t>;
inline std::span<const std::uint64_t> members_of(const member_list& list) {
  return std::span<const std::uint64_t>(list).first(list.size() - 1);
}
inline std::uint64_t number_of_multicast(const member_list& list) { return list[list.size() - 1]; }

/// Sent with the members, in the envelope's field for an element.
struct multicast_route {
  std::int32_t sender = no_pe;     // whose list it is
  std::int32_t forwarder = no_pe;  // the PE of another host that forwards the message there, and where parts of a
                                   // reduction meet; no_pe on the route to it, and on the sender's own host

  static multicast_route of(const sched::envelope& message) { return std::bit_cast<multicast_route>(message.element); }
  std::uint64_t number() const { return std::bit_cast<std::uint64_t>(*this); }
};

/// End the job when a faulty process names PEs that are not there, or sends a list without its number.
void check_pe_of_multicast(const sched::pe& here, const sched::envelope& message, int pe);
void check_route(const sched::pe& here, const sched::envelope& message);
void check_list(const sched::envelope& message, std::size_t size);

/// A PE forwards a multicast to several; `crossed`: it came from another host, which chose this PE.
void count_forwarding(sched::pe& here, bool crossed);
/// The number of the next multicast that crosses to that PE.
std::uint64_t draw_multicast_number(sched::pe& here, int receiver);
/// Nothing was sent with this number. False: a later one is out already, and its receiver will wait for ever.
bool take_back_multicast_number(sched::pe& here, int receiver, std::uint64_t number);
/// Whether a multicast that came with a number (0: none) has to be kept for its predecessors, or is the one that later
/// ones wait for.
struct multicast_turn {
  bool is_early = false;
  bool is_next = false;
};
multicast_turn multicast_arrived(sched::pe& here, int sender, std::uint64_t number);
void keep_multicast(sched::pe& here, int sender, std::uint64_t number, const sched::envelope& message);
/// Runs kept multicasts whose turn has come.
void run_kept_multicasts(sched::pe& here, int sender);

/// `Message` is multicast_method or reducing_multicast (section.hpp).
template <class Message>
struct multicast_relay {
  using tuple = typename prepend<typename Message::inner, members_by_pe>::type;

  /// Called by the sender, which may have added the members in any order.
  static void post(sched::pe& here, std::uint32_t collection, members_by_pe members, const auto&... arguments) {
    const multicast_route route{here.number(), no_pe};
    if (here.job().hosts() > 1) {
      members_by_pe own = take_own_host(here.job(), members);
      if (!members.empty()) begin_tree(here, collection, route, members, arguments...);
      members = std::move(own);
    }
    for (auto& [pe, numbers] : members) {
      numbers.push_back(0);  // comes directly, hence in order
      post_to_pe(here, collection, route, pe, numbers, arguments...);
    }
  }

 private:
  using relays = std::vector<std::pair<int, packed_arguments>>;

  /// An exception of packing must not leave numbers behind that the receivers wait for.
  static void begin_tree(sched::pe& here, std::uint32_t collection, const multicast_route& route,
                         members_by_pe& members, const auto&... arguments) {
    plan_multicast(here.job(), members);
    std::vector<std::pair<int, std::uint64_t>> drawn;
    drawn.reserve(members.size());
    for (auto& [pe, numbers] : members) numbers.push_back(0);
    relays packed;
    try {
      for (auto& [pe, numbers] : members) drawn.emplace_back(pe, numbers.back() = draw_multicast_number(here, pe));
      packed = pack_for_hosts(here, members, arguments...);
    } catch (...) {
      for (const auto& [pe, number] : drawn)
        if (!take_back_multicast_number(here, pe, number))
          here.job().fail("a " + Message::name() + " could not be packed, and packing it had sent another one");
      throw;
    }
    post_all(here, collection, route, packed);
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    check_route(here, message);
    unpacked_arguments<tuple> unpacked(message);
    std::apply(
        [&](members_by_pe& members, const auto&... arguments) {
          for (const auto& [pe, numbers] : members) {
            check_pe_of_multicast(here, message, pe);
            check_list(message, numbers.size());
          }
          hand_on(here, message, multicast_route::of(message), members, arguments...);
        },
        unpacked.values());
  }
  static void hand_on(sched::pe& here, const sched::envelope& message, multicast_route route, members_by_pe& members,
                      const auto&... arguments) {
    const std::uint32_t collection = message.collection;
    const bool crossed = route.forwarder == no_pe;
    if (members.size() > 1) count_forwarding(here, crossed);
    if (crossed) {
      part_of_subtree coming{0, static_cast<int>(message.source), {}};
      for (const auto& [pe, numbers] : members) coming.parts += numbers.size() - 1;
      members_by_pe own = take_own_host(here.job(), members);
      const relays packed = pack_for_hosts(here, members, arguments...);
      for (const auto& [pe, each] : packed) coming.children.push_back(here.job().host_of(pe));
      Message::expect(here, message, coming, arguments...);
      post_all(here, collection, route, packed);
      members = std::move(own);
      route.forwarder = here.number();
    }
    const sched::runtime& job = here.job();
    const auto by_process = split_by_process(job, members);
    for (const bool own : {false, true})  // others first, so that they start while we work
      for (const std::span<members_of_pe> part : by_process) {
        if (here.is_in_this_process(part.front().first) != own) continue;
        if (own || part.size() == 1)
          for (const auto& [pe, numbers] : part) post_to_pe(here, collection, route, pe, numbers, arguments...);
        else
          relay(here, part[choose_relay(job, part)].first, collection, route, part, arguments...);
      }
  }
  /// For the first PE of each part of the hosts, in the order of the plan. Consumes the members.
  static relays pack_for_hosts(sched::pe& here, members_by_pe& members, const auto&... arguments) {
    const auto hosts = split_by_host(here.job(), members);
    relays packed;
    packed.reserve(most_child_hosts);
    try {
      for_each_part(hosts.size(), [&](std::size_t first, std::size_t last) {
        const std::span<members_of_pe> part(hosts[first].data(), hosts[last - 1].data() + hosts[last - 1].size());
        packed.emplace_back(part.front().first, pack(here, part.front().first, part, arguments...));
      });
    } catch (...) {
      for (const auto& [to, each] : packed) drop_packed<tuple>(here, each);
      throw;
    }
    return packed;
  }
  static packed_arguments pack(sched::pe& here, int to, std::span<members_of_pe> members, const auto&... arguments) {
    members_by_pe list(std::make_move_iterator(members.begin()), std::make_move_iterator(members.end()));
    return pack_arguments<tuple>(here, here.is_in_this_process(to), false, std::move(list), arguments...);
  }
  /// To other hosts. Does not throw: a failed send ends the job.
  static void post_all(sched::pe& here, std::uint32_t collection, const multicast_route& route, const relays& packed) {
    for (const auto& [to, each] : packed) post_packed(here, to, handler, collection, route.number(), each);
  }
  static void relay(sched::pe& here, int to, std::uint32_t collection, const multicast_route& route,
                    std::span<members_of_pe> members, const auto&... arguments) {
    post_packed(here, to, handler, collection, route.number(), pack(here, to, members, arguments...));
  }
  static void post_to_pe(sched::pe& here, std::uint32_t collection, const multicast_route& route, int pe,
                         const std::vector<std::uint64_t>& numbers, const auto&... arguments) {
    const member_list list(buffer<std::uint64_t>::copy_of(numbers));
    post_packed(here, pe, Message::handler, collection, route.number(),
                pack_arguments<typename Message::tuple>(here, here.is_in_this_process(pe), false, list, arguments...));
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&deliver, "to hand on: " + Message::name());
};

/// The message that arrives on a PE with members. `Self` has `tuple`, whose first is a member_list, and run(here, home,
/// message, arguments).
template <class Self>
struct multicast_handler {
  static void deliver(sched::pe& here, sched::envelope& message) {
    pe_objects& objects = pe_objects::of(here);
    check_route(here, message);
    const int sender = multicast_route::of(message).sender;
    multicast_turn turn;
    {
      using tuple = typename Self::tuple;
      unpacked_arguments<tuple> unpacked(message);
      tuple& arguments = unpacked.values();
      check_list(message, std::get<0>(arguments).size());
      const std::uint64_t number = number_of_multicast(std::get<0>(arguments));
      turn = multicast_arrived(here, sender, number);
      if (turn.is_early) return keep_multicast(here, sender, number, kept(here, message, arguments));
      if (local_collection* const home = objects.find_local_collection(message.collection); home != nullptr)
        Self::run(here, *home, message, arguments);
      else
        objects.hold_for_creation(kept(here, message, arguments));
    }
    if (turn.is_next) run_kept_multicasts(here, sender);
  }

 private:
  template <class Tuple>
  static sched::envelope kept(sched::pe& here, const sched::envelope& message, Tuple& arguments) {
    sched::envelope copy;
    copy.assign_message(message);
    try {
      std::apply([&](auto&... each) { pack_arguments<Tuple>(here, true, false, std::move(each)...).store(copy); },
                 arguments);
    } catch (const arena::arena_exhausted& error) {  // its sender believes that it is safe
      here.job().fail("no memory to keep a message of PE " + std::to_string(multicast_route::of(message).sender) +
                      ": " + error.what());
    }
    return copy;
  }
};

}  // namespace tri::objects

#pragma GCC visibility pop
