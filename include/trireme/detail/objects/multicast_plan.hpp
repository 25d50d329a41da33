// The plan of a multicast: the members of a section by PE and host, and the forwarding PEs. No messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trireme/detail/location/location_action.hpp"

#pragma GCC visibility push(default)

namespace tri::sched {
class runtime;
}  // namespace tri::sched

namespace tri::objects {

/// Members on several PEs, grouped by host. Each list ends like a member_list.
using members_of_pe = std::pair<std::int32_t, std::vector<std::uint64_t>>;
using members_by_pe = std::vector<members_of_pe>;

/// Adds a member to the list, which is in the order of PEs.
void add_member(members_by_pe& members, pe_number pe, std::uint64_t number);

/// The parts of a list whose PEs are on one host, or in one process.
std::vector<std::span<members_of_pe>> split_by_host(const sched::runtime& job, std::span<members_of_pe> members);
std::vector<std::span<members_of_pe>> split_by_process(const sched::runtime& job, std::span<members_of_pe> members);

/// Removes the members on this host from the list.
members_by_pe take_own_host(const sched::runtime& job, members_by_pe& members);

/// Which of these PEs forwards a multicast to the others: the one that did so least often.
std::size_t choose_relay(const sched::runtime& job, std::span<const members_of_pe> pes);

/// Puts the forwarding PE first among those of each host, and orders the hosts so that the forwarding ones are those
/// with that role least often.
void plan_multicast(const sched::runtime& job, members_by_pe& members);

}  // namespace tri::objects

#pragma GCC visibility pop
