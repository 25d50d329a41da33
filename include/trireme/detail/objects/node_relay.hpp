// Messages to all processes of the job, for node groups: from host to host along a tree (sched/remote/host_tree.hpp),
// another one each time, and on each host to its processes. Any PE of a process may hand a message on; it then combines
// the parts of a reduction that come back from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/detail/objects/post.hpp"
#include "trireme/detail/objects/reduction.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

inline sched::envelope node_message(std::uint32_t handler, std::uint32_t group, const packed_arguments& packed) {
  sched::envelope message{};
  message.collection = group;
  message.handler = handler;
  packed.store(message);
  return message;
}

/// The tree that a message takes.
struct node_route {
  std::int32_t root_host = 0;
  std::int32_t rotation = 0;
};
/// The next one that begins on this host.
node_route begin_node_route(sched::pe& here);
/// Ends the job unless the message comes from the parent of this host in such a tree.
void check_node_route(const sched::pe& here, const sched::envelope& message, const node_route& route);
std::vector<int> child_hosts_of(const sched::pe& here, const node_route& route);
/// Of this host and of those below it.
std::size_t processes_below(const sched::pe& here, const node_route& route);

/// Posts to one process; the arguments are packed for it.
template <class Tuple>
void post_to_node(sched::pe& here, int process, std::uint32_t handler, std::uint32_t group, const auto&... arguments) {
  auto message =
      node_message(handler, group, pack_arguments<Tuple>(here, process == here.job().process(), false, arguments...));
  post_or_drop(here, message, [&] { here.send_to_node(process, message); });
}

/// `Message` has `inner`, the arguments that cross; post(here, process, group, combining_pe, arguments...), to one
/// process; and expect(here, message, part_of_subtree, arguments...) where the message is handed on.
template <class Message>
struct node_relay {
  using tuple = typename prepend<typename Message::inner, node_route>::type;

  static void post(sched::pe& here, std::uint32_t group, const auto&... arguments) {
    const node_route route = begin_node_route(here);
    for (const int host : child_hosts_of(here, route)) hand_on(here, host, group, route, arguments...);
    post_to_own_host(here, group, no_pe, arguments...);
  }

 private:
  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> unpacked(message);
    std::apply(
        [&](const node_route& route, const auto&... arguments) {
          check_node_route(here, message, route);
          const std::vector<int> children = child_hosts_of(here, route);
          Message::expect(here, message,
                          part_of_subtree{processes_below(here, route), static_cast<int>(message.source), children},
                          arguments...);
          for (const int host : children) hand_on(here, host, message.collection, route, arguments...);
          post_to_own_host(here, message.collection, here.number(), arguments...);
        },
        unpacked.values());
  }
  static void hand_on(sched::pe& here, int host, std::uint32_t group, const node_route& route,
                      const auto&... arguments) {
    post_to_node<tuple>(here, here.job().first_process_of(host), handler, group, route, arguments...);
  }
  static void post_to_own_host(sched::pe& here, std::uint32_t group, int combining_pe, const auto&... arguments) {
    const sched::runtime& job = here.job();
    const int first = job.first_process_of(job.host());
    const int processes = job.processes_of_host(job.host());
    for (int step = 1; step <= processes; ++step)  // others first, so that they start while we work
      Message::post(here, first + (job.process() - first + step) % processes, group, combining_pe, arguments...);
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&deliver, "to hand on: " + Message::name());
};

}  // namespace tri::objects

#pragma GCC visibility pop
