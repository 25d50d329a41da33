#include "objects/collectives/contribution_tree.hpp"

namespace tri::objects {

contribution_tree::contribution_tree(const sched::runtime& job, std::uint32_t collection)
    : job_(job),
      collection_(collection),
      root_pe_(static_cast<int>(collection % static_cast<std::uint32_t>(job.pes()))),
      tree_(job.hosts(), job.host_of(root_pe_), sched::host_tree::rotation_of(collection, job.hosts())) {}

int contribution_tree::combining_pe_of(int host) const {
  const auto pes = static_cast<std::uint32_t>(job_.processes_of_host(host) * job_.pes_per_process());
  return job_.first_pe_of(host) + static_cast<int>(collection_ % pes);
}

int contribution_tree::parent_pe() const {
  const int parent = tree_.parent(job_.host());
  return parent == job_.host_of(root_pe_) ? -1 : combining_pe_of(parent);
}

bool contribution_tree::combines() const {
  if (job_.is_on_own_host(root_pe_)) return false;
  return job_.pes_of_host() > 1 || tree_.children(job_.host()) > 0 || parent_pe() >= 0;
}

std::size_t contribution_tree::participants() const {
  return static_cast<std::size_t>(job_.pes_of_host()) + static_cast<std::size_t>(tree_.children(job_.host()));
}

std::size_t contribution_tree::participant_of(int pe) const {
  if (job_.is_on_own_host(pe)) return job_.host_pe_number(pe);
  auto next = static_cast<std::size_t>(job_.pes_of_host());
  std::size_t found = participants();
  tree_.for_each_child(job_.host(), [&](int child) {
    if (combining_pe_of(child) == pe) found = next;
    ++next;
  });
  return found;
}

int contribution_tree::pe_of_participant(std::size_t participant) const {
  const auto pes = static_cast<std::size_t>(job_.pes_of_host());
  if (participant < pes) return job_.first_pe_of_host() + static_cast<int>(participant);
  std::size_t next = pes;
  int found = -1;
  tree_.for_each_child(job_.host(), [&](int child) {
    if (next++ == participant) found = combining_pe_of(child);
  });
  return found;
}

bool contribution_tree::has_any(const std::vector<bool>& of_hosts, int below) const {
  bool any = of_hosts[static_cast<std::size_t>(below)];
  tree_.for_each_child(below, [&](int child) { any = any || has_any(of_hosts, child); });
  return any;
}

std::vector<std::uint64_t> contribution_tree::initial_levels(std::span<const pe_number> routes) const {
  std::vector<std::uint64_t> levels(participants(), no_level);
  std::vector<bool> has_elements(static_cast<std::size_t>(job_.hosts()));
  for (const pe_number pe : routes) {
    has_elements[static_cast<std::size_t>(job_.host_of(pe))] = true;
    if (job_.is_on_own_host(pe)) levels[job_.host_pe_number(pe)] = 0;
  }
  auto next = static_cast<std::size_t>(job_.pes_of_host());
  tree_.for_each_child(job_.host(), [&](int child) {
    if (has_any(has_elements, child)) levels[next] = 0;
    ++next;
  });
  return levels;
}

}  // namespace tri::objects
