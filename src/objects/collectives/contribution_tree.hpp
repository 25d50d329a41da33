// Where the contributions of a collection are combined: on one PE of each host, and from host to host along a tree
// (sched/remote/host_tree.hpp) to the host of the root, another tree for each collection. A pure function of the job
// and the collection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/remote/host_tree.hpp"
#include "trireme/detail/objects/local_collection.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::objects {

class contribution_tree {
 public:
  contribution_tree(const sched::runtime& job, std::uint32_t collection);

  int root_pe() const { return root_pe_; }
  /// The PE that combines on this host; not on the host of the root, where parts go to the root.
  int combining_pe() const { return combining_pe_of(job_.host()); }
  /// Where the sums of this host go; -1: to the root.
  int parent_pe() const;
  /// False: a PE of this host has nobody to combine with, and sends to the root.
  bool combines() const;

  /// Those who send parts to combining_pe(): the PEs of this host, then the combining PEs of its children.
  std::size_t participants() const;
  /// Which one a PE is; participants(): none.
  std::size_t participant_of(int pe) const;
  int pe_of_participant(std::size_t participant) const;
  /// Their levels before anything was contributed: that of elements where there are some in the beginning. `routes`:
  /// the PEs of those elements.
  std::vector<std::uint64_t> initial_levels(std::span<const pe_number> routes) const;

 private:
  int combining_pe_of(int host) const;
  bool has_any(const std::vector<bool>& of_hosts, int below) const;

  const sched::runtime& job_;
  std::uint32_t collection_;
  int root_pe_;
  sched::host_tree tree_;
};

}  // namespace tri::objects
