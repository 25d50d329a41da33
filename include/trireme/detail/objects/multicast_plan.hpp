// Which way a multicast goes: the members of a section by PE, host by host, and who hands the message on. No messages.
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

/// Members on several PEs: those of a host stand together. Each list ends as a member_list does.
using members_of_pe = std::pair<std::int32_t, std::vector<std::uint64_t>>;
using members_by_pe = std::vector<members_of_pe>;

/// Adds a member to the list, which is in the order of PEs.
void add_member(members_by_pe& members, pe_number pe, std::uint64_t number);

/// The parts of a list whose PEs are on one host, or in one process.
std::vector<std::span<members_of_pe>> split_by_host(const sched::runtime& job, std::span<members_of_pe> members);
std::vector<std::span<members_of_pe>> split_by_process(const sched::runtime& job, std::span<members_of_pe> members);

/// Takes the members on this host out of the list.
members_by_pe take_own_host(const sched::runtime& job, members_by_pe& members);

/// Which of these PEs hands a multicast on to the others: the one that did so least often.
std::size_t choose_relay(const sched::runtime& job, std::span<const members_of_pe> pes);

/// Puts first among the PEs of each host the one that hands the multicast on there, and the hosts so that those that
/// hand it on to others had that part least often.
void plan_multicast(const sched::runtime& job, members_by_pe& members);

}  // namespace tri::objects

#pragma GCC visibility pop
