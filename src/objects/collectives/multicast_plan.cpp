#include "trireme/detail/objects/multicast_plan.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>

#include "sched/remote/host_records.hpp"
#include "trireme/detail/objects/inner_vertices.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::objects {
namespace {

template <class Same>
std::vector<std::span<members_of_pe>> split_members(std::span<members_of_pe> members, Same&& same) {
  std::vector<std::span<members_of_pe>> parts;
  for (std::size_t first = 0, last = 0; first < members.size(); first = last) {
    while (last < members.size() && same(members[first].first, members[last].first)) ++last;
    parts.push_back(members.subspan(first, last - first));
  }
  return parts;
}

// The counters are those of all PEs of the host.
std::size_t repeatable(std::size_t choice) { return static_cast<std::size_t>(sched::this_pe().repeatable(choice)); }

}  // namespace

void add_member(members_by_pe& members, pe_number pe, std::uint64_t number) {
  auto entry = std::lower_bound(members.begin(), members.end(), pe,
                                [](const members_of_pe& each, pe_number wanted) { return each.first < wanted; });
  if (entry == members.end() || entry->first != pe) entry = members.emplace(entry, pe, std::vector<std::uint64_t>());
  entry->second.push_back(number);
}

std::vector<std::span<members_of_pe>> split_by_host(const sched::runtime& job, std::span<members_of_pe> members) {
  return split_members(members, [&](int a, int b) { return job.host_of(a) == job.host_of(b); });
}

std::vector<std::span<members_of_pe>> split_by_process(const sched::runtime& job, std::span<members_of_pe> members) {
  return split_members(members, [&](int a, int b) { return job.process_of(a) == job.process_of(b); });
}

members_by_pe take_own_host(const sched::runtime& job, members_by_pe& members) {
  const auto first = std::ranges::find_if(members, [&](auto& each) { return job.is_on_own_host(each.first); });
  const auto last = std::find_if_not(first, members.end(), [&](auto& each) { return job.is_on_own_host(each.first); });
  members_by_pe own(std::make_move_iterator(first), std::make_move_iterator(last));
  members.erase(first, last);
  return own;
}

std::size_t choose_relay(const sched::runtime& job, std::span<const members_of_pe> pes) {
  return repeatable(choose_least_used(
      pes.size(), [&](std::size_t i) -> std::atomic<std::uint64_t>& { return job.own_host().chosen[pes[i].first]; },
      static_cast<std::size_t>(job.host())));
}

void plan_multicast(const sched::runtime& job, members_by_pe& members) {
  std::atomic<std::uint64_t>* const of_host = job.own_host().chosen + job.pes();
  auto hosts = split_by_host(job, members);
  std::vector<std::size_t> inner;
  add_inner_places(0, hosts.size(), inner);
  // A host that hands on to others gives its place in the list to the one that was chosen.
  std::vector<std::size_t> order(hosts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t next = 0; next < inner.size(); ++next) {
    std::vector<std::size_t> candidates;  // places of hosts without such a part so far
    for (std::size_t index = 0; index < order.size(); ++index)
      if (std::find(inner.begin(), inner.begin() + static_cast<std::ptrdiff_t>(next), index) ==
          inner.begin() + static_cast<std::ptrdiff_t>(next))
        candidates.push_back(index);
    const std::size_t chosen = candidates[repeatable(choose_least_used(
        candidates.size(),
        [&](std::size_t i) -> std::atomic<std::uint64_t>& {
          return of_host[job.host_of(hosts[order[candidates[i]]].front().first)];
        },
        static_cast<std::size_t>(job.host())))];
    std::swap(order[inner[next]], order[chosen]);
  }
  members_by_pe planned;
  planned.reserve(members.size());
  for (std::size_t index = 0; index < order.size(); ++index) {
    const std::span<members_of_pe> pes = hosts[order[index]];
    const bool hands_on = pes.size() > 1 || std::find(inner.begin(), inner.end(), index) != inner.end();
    if (hands_on) {  // the others stay as they are, those of a process together
      const auto chosen = pes.begin() + static_cast<std::ptrdiff_t>(choose_relay(job, pes));
      std::rotate(pes.begin(), chosen, chosen + 1);
    }
    std::move(pes.begin(), pes.end(), std::back_inserter(planned));
  }
  members = std::move(planned);
}

}  // namespace tri::objects
