#include "os/cpu/topology.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

#include "os/cgroup.hpp"
#include "os/cpu/cpu_list.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::os {
namespace {

struct hwloc_deleter {
  void operator()(hwloc_topology_t handle) const { hwloc_topology_destroy(handle); }
};
using hwloc_handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, hwloc_deleter>;

constexpr std::string_view synthetic_prefix = "synthetic:";

[[noreturn]] void refuse(const std::string& description, const std::string& reason) {
  throw topology_error(
      fmt::format("topology '{}': {}; write auto, the path of an hwloc XML file (`lstopo machine.xml`), or "
                  "synthetic:<description> such as \"synthetic:pack:2 numa:1 l3:1 core:4 pu:2\"",
                  description, reason));
}

// hwloc makes as many objects as a synthetic description says, without a limit, and compares each with its siblings: up
// to these numbers that takes a second or two.
void check_synthetic_size(const std::string& description) {
  constexpr double most_objects = 1 << 13;
  constexpr double most_children = 1 << 10;
  double objects = 1;
  double children = 1;       // the most of one object
  bool in_brackets = false;  // attributes
  for (std::size_t i = synthetic_prefix.size(); i < description.size(); ++i) {
    in_brackets = (in_brackets || description[i] == '(') && description[i] != ')';
    const char before = description[i - 1];
    if (in_brackets || description[i] == ' ' || std::string_view(": )").find(before) == std::string_view::npos)
      continue;
    // As hwloc reads "pack:2 4": counts behind a type or alone, in any base, -1 as the largest there is.
    const double count = std::max(static_cast<double>(std::strtoul(description.c_str() + i, nullptr, 0)), 1.0);
    objects *= count;
    children = std::max(children, count);
  }
  if (objects > most_objects)
    refuse(description, fmt::format("it has {:.6g} CPUs; at most {} can be described", objects, most_objects));
  if (children > most_children)
    refuse(description, fmt::format("it has {:.6g} parts of one kind in one place; at most {} can be described",
                                    children, most_children));
}

hwloc_handle open_topology(const std::string& description) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) refuse(description, "hwloc does not start");
  hwloc_handle handle(raw);
  if (description.starts_with(synthetic_prefix)) {
    check_synthetic_size(description);
    if (hwloc_topology_set_synthetic(raw, description.c_str() + synthetic_prefix.size()) != 0) {
      refuse(description, "hwloc does not understand the synthetic description");
    }
  } else if (description != "auto") {
    if (hwloc_topology_set_xml(raw, description.c_str()) != 0) {
      refuse(description, fmt::format("hwloc cannot read it ({})", std::generic_category().message(errno)));
    }
  }
  if (hwloc_topology_load(raw) != 0) refuse(description, "hwloc cannot load it");
  return handle;
}

std::vector<int> numbers_of(hwloc_const_cpuset_t set) {
  std::vector<int> numbers;
  if (hwloc_bitmap_weight(set) < 0) throw topology_error("a set of CPUs in the topology has no end");
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) numbers.push_back(i);
  return numbers;
}

// The outermost data or unified cache above an object.
hwloc_obj_t outermost_cache(hwloc_obj_t object) {
  hwloc_obj_t found = nullptr;
  for (hwloc_obj_t above = object->parent; above != nullptr; above = above->parent)
    if (hwloc_obj_type_is_dcache(above->type)) found = above;
  return found;
}

// Compared before it is made whole: a quota may be larger than any int.
int useful_of(int count, std::optional<double> quota) {
  return quota && *quota < count ? std::max(1, static_cast<int>(std::ceil(*quota))) : std::max(1, count);
}

// hwloc's logical indices count all objects of the machine; ours count those with usable PUs, from 0, in first-seen
// order.
class renumbering {
 public:
  int operator()(const void* object) {
    return indices_.try_emplace(object, static_cast<int>(indices_.size())).first->second;
  }
  int count() const { return static_cast<int>(indices_.size()); }

 private:
  std::map<const void*, int> indices_;
};

void print_tree(hwloc_obj_t object, int depth, std::string& into) {
  std::array<char, 64> type{};
  std::array<char, 256> attributes{};
  hwloc_obj_type_snprintf(type.data(), type.size(), object, 0);
  hwloc_obj_attr_snprintf(attributes.data(), attributes.size(), object, ", ", 0);
  const bool numbered = object->os_index != HWLOC_UNKNOWN_INDEX;
  into += fmt::format("{:{}}{}{}{}\n", "", 2 * depth, type.data(),
                      numbered ? fmt::format(" #{}", object->os_index) : std::string(),
                      attributes[0] != 0 ? fmt::format(" ({})", attributes.data()) : std::string());
  for (hwloc_obj_t child = object->memory_first_child; child != nullptr; child = child->next_sibling)
    print_tree(child, depth + 1, into);
  for (hwloc_obj_t child = object->first_child; child != nullptr; child = child->next_sibling)
    print_tree(child, depth + 1, into);
}

std::vector<cache_info> read_caches(hwloc_topology_t handle) {
  std::vector<cache_info> caches;
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE}) {
    for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(handle, type, cache)) != nullptr;) {
      // One without CPUs of ours is there still, where memory hangs below it.
      if (hwloc_bitmap_iszero(cache->cpuset) != 0) continue;
      caches.push_back(
          {static_cast<int>(cache->attr->cache.depth), cache->attr->cache.size, numbers_of(cache->cpuset)});
    }
  }
  return caches;
}

}  // namespace

const char* to_string(distance_class distance) {
  switch (distance) {
    case distance_class::same_pu:
      return "same PU";
    case distance_class::same_core:
      return "same core";
    case distance_class::same_cache:
      return "same cache";
    case distance_class::same_numa:
      return "same NUMA domain";
    case distance_class::same_host:
      return "same host";
  }
  return "?";
}

topology topology::load(const std::string& description) {
  const hwloc_handle handle = open_topology(description);
  topology loaded;
  loaded.description_ = description;
  loaded.is_this_machine_ = description == "auto";

  // hwloc leaves out what the control group forbids; the affinity mask that we inherited narrows it further.
  std::set<int> allowed;
  const std::vector<int> in_machine = numbers_of(hwloc_topology_get_allowed_cpuset(handle.get()));
  allowed.insert(in_machine.begin(), in_machine.end());
  if (loaded.is_this_machine_) {
    std::set<int> narrowed;
    for (int cpu : cpus_of_this_thread())
      if (allowed.contains(cpu)) narrowed.insert(cpu);
    allowed.swap(narrowed);
    loaded.quota_ = cpu_quota();
  }

  renumbering cores, caches, domains, packages;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(handle.get(), HWLOC_OBJ_PU, object)) != nullptr;) {
    if (!allowed.contains(static_cast<int>(object->os_index))) continue;
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(handle.get(), HWLOC_OBJ_CORE, object);
    const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(handle.get(), HWLOC_OBJ_PACKAGE, object);
    const hwloc_obj_t cache = outermost_cache(object);
    hwloc_obj_t domain = nullptr;  // memory hangs beside the tree: find the domain that covers the PU
    while ((domain = hwloc_get_next_obj_by_type(handle.get(), HWLOC_OBJ_NUMANODE, domain)) != nullptr)
      if (hwloc_bitmap_isset(domain->cpuset, object->os_index)) break;
    loaded.pus_.push_back({static_cast<int>(object->os_index), cores(core != nullptr ? core : object),
                           cache != nullptr ? caches(cache) : -1, domains(domain), packages(package)});
  }
  if (loaded.pus_.empty()) refuse(description, "it has no CPU that this process may use");
  loaded.cores_ = cores.count();
  loaded.caches_ = caches.count();
  loaded.numa_domains_ = domains.count();
  loaded.packages_ = packages.count();
  loaded.all_caches_ = read_caches(handle.get());
  loaded.memory_bytes_ = hwloc_get_root_obj(handle.get())->total_memory;
  print_tree(hwloc_get_root_obj(handle.get()), 0, loaded.tree_);
  return loaded;
}

const topology& topology::shared(const std::string& description) {
  static std::mutex lock;
  static std::map<std::string, topology> loaded;
  const std::lock_guard<std::mutex> guard(lock);
  auto found = loaded.find(description);
  if (found == loaded.end()) found = loaded.emplace(description, load(description)).first;
  return found->second;
}

bool topology::has(int number) const {
  return std::any_of(pus_.begin(), pus_.end(), [=](const pu& each) { return each.number == number; });
}

const pu& topology::at(int number) const {
  for (const pu& each : pus_)
    if (each.number == number) return each;
  std::vector<int> usable;
  usable.reserve(pus_.size());
  for (const pu& each : pus_) usable.push_back(each.number);
  std::sort(usable.begin(), usable.end());
  throw topology_error(fmt::format("CPU {} is none of the usable ones, {}", number, format_cpu_list(usable)));
}

distance_class topology::distance(int a, int b) const {
  const pu& first = at(a);
  const pu& second = at(b);
  if (a == b) return distance_class::same_pu;
  if (first.core == second.core) return distance_class::same_core;
  if (first.cache >= 0 && first.cache == second.cache) return distance_class::same_cache;
  if (first.numa == second.numa) return distance_class::same_numa;
  return distance_class::same_host;
}

int topology::useful_cores() const { return useful_of(cores_, quota_); }

int topology::useful_pus() const { return useful_of(static_cast<int>(pus_.size()), quota_); }

std::string topology::tree() const { return tree_; }

}  // namespace tri::os
