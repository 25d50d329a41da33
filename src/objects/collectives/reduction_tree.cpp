#include <algorithm>

#include "sched/remote/host_records.hpp"
#include "sched/remote/host_tree.hpp"
#include "trireme/detail/objects/reduction.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::objects {
namespace {

// Another one for each reduction, so that all hosts share the inner vertices.
sched::host_tree tree_of(const sched::runtime& job, const root_name& root) {
  const int hosts = job.hosts();
  return {hosts, job.host_of(static_cast<int>(root.pe)),
          sched::host_tree::rotation_of(root.slot + root.generation, hosts)};
}

std::int64_t pes_of_subtree(const sched::runtime& job, const sched::host_tree& tree, int host) {
  std::int64_t pes = std::int64_t{job.processes_of_host(host)} * job.pes_per_process();
  tree.for_each_child(host, [&](int child) { pes += pes_of_subtree(job, tree, child); });
  return pes;
}

}  // namespace

place_in_reduction find_place_in_reduction(const sched::pe& here, const root_name& root) {
  const sched::runtime& job = here.job();
  const sched::host_tree tree = tree_of(job, root);
  const int parent = tree.parent(job.host());
  const bool is_root = parent == job.host_of(static_cast<int>(root.pe));
  return {is_root ? -1 : job.first_pe_of(parent), pes_of_subtree(job, tree, job.host())};
}

void check_is_of_subtree(const sched::pe& here, const sched::envelope& message, const root_name& root,
                         const host_part& known) {
  const sched::runtime& job = here.job();
  const int from = job.host_of(static_cast<int>(message.source));
  if (from == job.host() || std::ranges::find(known.children, from) != known.children.end()) return;
  const int root_host = job.host_of(static_cast<int>(root.pe));
  if (root_host == job.host() || root_host == from || tree_of(job, root).parent(from) != job.host())
    refuse_arguments(message, "only PEs of one host, and of hosts below it in the tree of the reduction, send that");
}

void count_part(const sched::pe& here, const sched::envelope& message) {
  const sched::runtime& job = here.job();
  if (!job.is_on_own_host(static_cast<int>(message.source)))
    job.process_record_of(job.process())->between_hosts.reduction_parts.add();
}

}  // namespace tri::objects
