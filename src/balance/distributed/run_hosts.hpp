// Runs the machines of all hosts in one thread, first message sent first delivered: what `gossip` and `hierarchy` are
// as strategies of a whole snapshot. Tests deliver in other orders.
#pragma once

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

#include "balance/distributed/host_part.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {

template <class Host>
protocol_cost run_hosts(std::vector<Host>& hosts) {
  struct in_flight {
    std::int32_t from, to;
    typename Host::message what;
  };
  std::deque<in_flight> messages;
  std::vector<std::int64_t> counts(hosts.size());
  protocol_cost cost;
  typename Host::outbox out;
  const auto send_all = [&](std::int32_t from) {
    for (auto& [to, what] : out) {
      messages.push_back({from, to, std::move(what)});
      ++cost.messages;
      ++counts[static_cast<std::size_t>(from)];
      ++counts[static_cast<std::size_t>(to)];
    }
    out.clear();
  };
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    hosts[host].begin(out);
    send_all(static_cast<std::int32_t>(host));
  }
  while (!messages.empty()) {
    const in_flight next = std::move(messages.front());
    messages.pop_front();
    hosts[static_cast<std::size_t>(next.to)].receive(next.from, next.what, out);
    send_all(next.to);
  }
  for (const Host& each : hosts)
    if (!each.is_done()) throw std::logic_error("a distributed strategy ended before all hosts were done");
  cost.most_of_a_host = *std::max_element(counts.begin(), counts.end());
  return cost;
}

/// What the hosts decided, as moves.
template <class Host>
std::vector<move> moves_of(const snapshot& of, const std::vector<Host>& hosts) {
  std::vector<move> moves;
  for (const Host& host : hosts)
    for (const accepted_object& each : host.part().placed())
      if (of.objects[each.object].pe != each.pe) moves.push_back({each.object, of.objects[each.object].pe, each.pe});
  std::sort(moves.begin(), moves.end(), [](const move& a, const move& b) { return a.object < b.object; });
  return moves;
}

}  // namespace tri::balancing
