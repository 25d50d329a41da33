#include <atomic>

#include "sched/remote/host_records.hpp"
#include "sched/remote/host_tree.hpp"
#include "trireme/detail/objects/node_relay.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::objects {
namespace {

sched::host_tree tree_of(const sched::runtime& job, const node_route& route) {
  return {job.hosts(), route.root_host, route.rotation};
}

std::size_t processes_below(const sched::runtime& job, const sched::host_tree& tree, int host) {
  auto processes = static_cast<std::size_t>(job.processes_of_host(host));
  tree.for_each_child(host, [&](int child) { processes += processes_below(job, tree, child); });
  return processes;
}

}  // namespace

node_route begin_node_route(sched::pe& here) {
  const sched::runtime& job = here.job();
  if (job.hosts() == 1) return {};
  // relaxed: the trees only have to differ
  const std::uint64_t number = here.repeatable(job.own_host().trees_begun.fetch_add(1, std::memory_order_relaxed));
  return {job.host(), sched::host_tree::rotation_of(static_cast<std::uint32_t>(number), job.hosts())};
}

void check_node_route(const sched::pe& here, const sched::envelope& message, const node_route& route) {
  const sched::runtime& job = here.job();
  if (route.root_host < 0 || route.root_host >= job.hosts() || route.root_host == job.host() || route.rotation < 0 ||
      route.rotation >= sched::host_tree::rotations(job.hosts()) ||
      tree_of(job, route).parent(job.host()) != job.host_of(static_cast<int>(message.source)))
    refuse_arguments(message, "its sender is not the parent of this host in the tree that it names");
}

std::vector<int> child_hosts_of(const sched::pe& here, const node_route& route) {
  std::vector<int> children;
  tree_of(here.job(), route).for_each_child(here.job().host(), [&](int child) { children.push_back(child); });
  return children;
}

std::size_t processes_below(const sched::pe& here, const node_route& route) {
  return processes_below(here.job(), tree_of(here.job(), route), here.job().host());
}

}  // namespace tri::objects
