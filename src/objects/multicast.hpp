// The way of a multicast to the members of a section. Its sender sorts them by the PEs where it believes them to be. On
// its own host it sends to each of these; to the other hosts by a tree that crosses to each once (mei.md M57). There
// one PE hands the message on, to the PEs of its own process and to one PE of each other process.
//
// A member that has moved meanwhile is followed by a message of its own, and the sender is told: its next multicast
// finds the new place.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "objects/arguments.hpp"
#include "objects/location/location_action.hpp"
#include "objects/post.hpp"

namespace tri::objects {

/// Members of a section on one PE, by number; goes with the message without being copied.
using member_list = shared_buffer<std::uint64_t>;

/// Members on several PEs, in order of PEs: those of a process and of a host stand together.
using members_of_pe = std::pair<std::int32_t, std::vector<std::uint64_t>>;
using members_by_pe = std::vector<members_of_pe>;

/// What goes along with the members, in the envelope's place for an element.
struct multicast_way {
  std::int32_t sender = no_pe;   // whose list it is
  std::int32_t meeting = no_pe;  // the PE of another host that hands the message on there, and where parts of a
                                 // reduction meet; no_pe on the way to it, and on the sender's own host

  static multicast_way of(const sched::envelope& message) { return std::bit_cast<multicast_way>(message.element); }
  std::uint64_t number() const { return std::bit_cast<std::uint64_t>(*this); }
};

template <class Tuple, class... First>
struct prepend;
template <class... P, class... First>
struct prepend<std::tuple<P...>, First...> {
  using type = std::tuple<First..., P...>;
};

/// Adds a member to the list.
inline void add_member(members_by_pe& members, pe_number pe, std::uint64_t number) {
  auto place = std::lower_bound(members.begin(), members.end(), pe,
                                [](const members_of_pe& each, pe_number wanted) { return each.first < wanted; });
  if (place == members.end() || place->first != pe) place = members.emplace(place, pe, std::vector<std::uint64_t>());
  place->second.push_back(number);
}

/// The parts of a list of members that `same(pe, pe)` keeps together.
template <class Same>
std::vector<std::span<members_of_pe>> split_members(std::span<members_of_pe> members, Same&& same) {
  std::vector<std::span<members_of_pe>> parts;
  for (std::size_t first = 0, last = 0; first < members.size(); first = last) {
    while (last < members.size() && same(members[first].first, members[last].first)) ++last;
    parts.push_back(members.subspan(first, last - first));
  }
  return parts;
}

/// `Message` is multicast_method or reducing_multicast (section.hpp).
template <class Message>
struct multicast_relay {
  using tuple = typename prepend<typename Message::inner, members_by_pe>::type;
  static constexpr std::size_t children_per_host = 4;  // of the tree over hosts

  /// By the sender.
  static void post(sched::pe& here, std::uint32_t collection, members_by_pe members, const auto&... arguments) {
    const multicast_way way{here.number(), no_pe};
    if (here.job().hosts() > 1) {
      members_by_pe own = take_own_host(here, members);
      post_to_hosts(here, collection, way, members, arguments...);
      members = std::move(own);
    }
    for (const auto& [pe, numbers] : members) post_to_pe(here, collection, way, pe, numbers, arguments...);
  }

 private:
  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> unpacked(message);
    std::apply(
        [&](members_by_pe& members, const auto&... arguments) {
          hand_on(here, message.collection, multicast_way::of(message), members, arguments...);
        },
        unpacked.values());
  }
  static void hand_on(sched::pe& here, std::uint32_t collection, multicast_way way, members_by_pe& members,
                      const auto&... arguments) {
    if (way.meeting == no_pe) {  // from another host
      members_by_pe own = take_own_host(here, members);
      post_to_hosts(here, collection, way, members, arguments...);
      members = std::move(own);
      way.meeting = here.number();
      std::size_t count = 0;
      for (const auto& [pe, numbers] : members) count += numbers.size();
      Message::expect(here, count, arguments...);
    }
    const sched::runtime& job = here.job();
    const auto by_process =
        split_members(members, [&](int a, int b) { return job.process_of(a) == job.process_of(b); });
    for (const bool own : {false, true})  // others first, so that they start while we work
      for (const std::span<members_of_pe> part : by_process) {
        if (here.is_in_this_process(part.front().first) != own) continue;
        // Always by the same PE for one sender, also to one member alone: so its multicasts stay in order in this host.
        const int process = job.process_of(part.front().first);
        if (own || job.pes_per_process() == 1)
          for (const auto& [pe, numbers] : part) post_to_pe(here, collection, way, pe, numbers, arguments...);
        else
          relay(here, process * job.pes_per_process() + way.sender % job.pes_per_process(), collection, way, part,
                arguments...);
      }
  }
  static members_by_pe take_own_host(sched::pe& here, members_by_pe& members) {
    const auto first = std::ranges::find_if(members, [&](auto& each) { return here.job().is_on_own_host(each.first); });
    const auto last =
        std::find_if_not(first, members.end(), [&](auto& each) { return here.job().is_on_own_host(each.first); });
    members_by_pe own(std::make_move_iterator(first), std::make_move_iterator(last));
    members.erase(first, last);
    return own;
  }
  /// A subtree is the hosts that follow each other in the list; its first one gets the message and hands it on.
  static void post_to_hosts(sched::pe& here, std::uint32_t collection, const multicast_way& way, members_by_pe& members,
                            const auto&... arguments) {
    const sched::runtime& job = here.job();
    const auto hosts = split_members(members, [&](int a, int b) { return job.host_of(a) == job.host_of(b); });
    const std::size_t children = std::min(children_per_host, hosts.size());
    for (std::size_t child = 0; child < children; ++child) {
      const auto first = hosts[hosts.size() * child / children];
      const auto last = hosts[hosts.size() * (child + 1) / children - 1];
      const int host = job.host_of(first.front().first);
      // Always the same PE for one sender, so that its multicasts stay in order there.
      const int to = job.first_pe_of(host) + way.sender % (job.processes_of_host(host) * job.pes_per_process());
      relay(here, to, collection, way, {first.data(), last.data() + last.size()}, arguments...);
    }
  }
  static void relay(sched::pe& here, int to, std::uint32_t collection, const multicast_way& way,
                    std::span<members_of_pe> members, const auto&... arguments) {
    members_by_pe list(std::make_move_iterator(members.begin()), std::make_move_iterator(members.end()));
    post_packed(here, to, handler, collection, way.number(),
                pack_arguments<tuple>(here, here.is_in_this_process(to), false, std::move(list), arguments...));
  }
  static void post_to_pe(sched::pe& here, std::uint32_t collection, const multicast_way& way, int pe,
                         const std::vector<std::uint64_t>& numbers, const auto&... arguments) {
    const member_list list(buffer<std::uint64_t>::copy_of(numbers));
    post_packed(here, pe, Message::handler, collection, way.number(),
                pack_arguments<typename Message::tuple>(here, here.is_in_this_process(pe), false, list, arguments...));
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&deliver, "to hand on: " + Message::name());
};

}  // namespace tri::objects
