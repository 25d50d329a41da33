// Topologies that a user describes (--tri-topology): synthetic descriptions, with the limit that is ours, and XML
// files.
//
// Of XML, what is ours is to walk through whatever hwloc has made of a file. Its own reader is not covered: hwloc 2.9
// ends some damaged files by a signal, and no error of ours can come before that. A process reads an XML file only if
// its own user names one, so the guard is not to name files of other users (docs/user/security.md says so). The files
// here are those that hwloc writes of machines which the input describes: a synthetic one, some of its parts taken
// away, grouped or forbidden.
#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "fuzz/fuzz_target.hpp"
#include "fuzz/scratch_folder.hpp"
#include "os/cpu/cpu_list.hpp"
#include "os/cpu/topology.hpp"

// hwloc 2.9 loses a few bytes for some synthetic descriptions, such as "pack:2 l3:1 [numa] pu:1".
// NOLINTNEXTLINE(readability-identifier-naming): the name that the sanitizer calls
extern "C" const char* __lsan_default_suppressions() { return "leak:libhwloc"; }

namespace tri::fuzz {
namespace {

using os::topology;

// What placement asks of a machine.
void ask(const topology& machine) {
  expect(!machine.pus().empty(), "a machine has CPUs");
  expect(machine.cores() >= 1 && machine.numa_domains() >= 1 && machine.packages() >= 1, "it has one of everything");
  expect(machine.useful_cores() >= 1 && machine.useful_pus() >= 1, "something can run on it");
  expect(!machine.is_this_machine() && !machine.quota(), "it is not the machine that reads it");
  expect(machine.tree().find("PU") != std::string::npos, "its CPUs are shown");
  for (const os::cache_info& cache : machine.all_caches())
    expect(cache.level >= 1 && cache.level <= 5 && !os::format_cpu_list(cache.pus).empty(), "a cache has CPUs");
  std::vector<int> cpus;
  for (const os::pu& each : machine.pus()) {
    expect(each.core >= 0 && each.core < machine.cores() && each.numa >= 0 && each.numa < machine.numa_domains() &&
               each.package >= 0 && each.package < machine.packages() && each.cache >= -1 &&
               each.cache < machine.caches(),
           "what a CPU belongs to is counted");
    expect(machine.has(each.number) && machine.at(each.number).core == each.core, "no two CPUs have one number");
    cpus.push_back(each.number);
    if (cpus.size() == 100) break;  // what follows is square
  }
  for (const int one : {cpus.front(), cpus[cpus.size() / 2], cpus.back()})
    for (const int other : cpus)
      expect(machine.distance(one, other) == machine.distance(other, one), "the way there is as far as the way back");
  const std::vector<int> order = config::victim_order(machine, cpus, static_cast<int>(cpus.size() / 2));
  expect(order.size() + 1 == cpus.size(), "work is looked for at all others");
  config::configuration values;
  for (const int processes : {1, 3}) config::assign_cpus(values, machine, 0, processes, 1);
}

struct hwloc_deleter {
  void operator()(hwloc_topology_t handle) const { hwloc_topology_destroy(handle); }
};
using hwloc_handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, hwloc_deleter>;

// hwloc loads its plug-ins with the first topology and unloads them with the last, which takes ten times as long as the
// rest: one that stays keeps them.
void keep_plugins() {
  static const hwloc_handle kept = [] {
    hwloc_topology_t raw = nullptr;
    expect(hwloc_topology_init(&raw) == 0, "hwloc works");
    return hwloc_handle(raw);
  }();
}

struct bitmap_deleter {
  void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using bitmap = std::unique_ptr<hwloc_bitmap_s, bitmap_deleter>;

enum class change : unsigned char { take_away, forbid, group, note, no_caches, no_cores };

// "<synthetic description>\n" and then changes of it: a byte that says which, a byte of CPUs, whose bits repeat.
// Nothing where hwloc does not make such a machine.
bool write_xml(std::string_view input, const std::string& file) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string description(input.substr(0, end));
  input.remove_prefix(std::min(end + 1, input.size()));
  topology::load("synthetic:" + description);  // refuses what is too large
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return false;
  const hwloc_handle handle(raw);
  if (hwloc_topology_set_synthetic(raw, description.c_str()) != 0) return false;
  const auto filter = [&](change what, auto set) {
    for (std::size_t i = 0; i + 1 < input.size(); i += 2)
      if (static_cast<change>(input[i]) == what) set();
  };
  filter(change::no_caches, [&] { hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE); });
  filter(change::no_cores, [&] { hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_NONE); });
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return false;
  for (; input.size() >= 2; input.remove_prefix(2)) {
    const bitmap set(hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(raw)));
    int place = 0;
    for (int cpu = hwloc_bitmap_first(set.get()); cpu >= 0; cpu = hwloc_bitmap_next(set.get(), cpu))
      if ((static_cast<unsigned char>(input[1]) >> (place++ % 8) & 1) == 0)
        hwloc_bitmap_clr(set.get(), static_cast<unsigned>(cpu));
    if (hwloc_bitmap_iszero(set.get())) continue;
    switch (static_cast<change>(input[0])) {
      case change::take_away:
        hwloc_topology_restrict(raw, set.get(), 0);
        break;
      case change::forbid:
        hwloc_topology_allow(raw, set.get(), nullptr, HWLOC_ALLOW_FLAG_CUSTOM);
        break;
      case change::group:
        if (hwloc_obj_t group = hwloc_topology_alloc_group_object(raw)) {
          hwloc_bitmap_copy(group->cpuset = hwloc_bitmap_alloc(), set.get());
          hwloc_topology_insert_group_object(raw, group);
        }
        break;
      case change::note:
        hwloc_topology_insert_misc_object(raw, hwloc_get_root_obj(raw), "a note");
        break;
      case change::no_caches:
      case change::no_cores:
        break;  // above
    }
  }
  return hwloc_topology_export_xml(raw, file.c_str(), 0) == 0;
}

}  // namespace

// The first byte selects the reader.
bool read(std::string_view input) {
  if (input.empty()) return false;
  keep_plugins();
  const std::string_view rest = input.substr(1);
  try {
    switch (input[0]) {
      case 's':
        ask(topology::load("synthetic:" + std::string(rest)));
        return true;
      case 'x': {
        const std::string file = (scratch_folder() / "machine.xml").string();
        if (!write_xml(rest, file)) return false;
        ask(topology::load(file));
        return true;
      }
      default:
        return false;
    }
  } catch (const os::topology_error&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  const auto with = [](const std::string& description, std::initializer_list<std::pair<change, int>> changes) {
    std::string text = std::string(1, 'x').append(description) + '\n';
    for (const auto& [what, cpus] : changes) text += {static_cast<char>(what), static_cast<char>(cpus)};
    return text;
  };
  const std::string usual = "pack:2 numa:1 l3:1 core:4 pu:2";
  return {std::string(1, 's').append(usual),
          "score:2 pu:1",
          "s4",
          "s2 3 2",
          "spack:2(memory=4294967296) l2:2(size=1048576) core:2 pu:1(indexes=0,4,1,5,2,6,3,7)",
          "spack:1 [numa(memory=1GB)] [numa] core:2 pu:2",
          with(usual, {}),
          with(usual, {{change::take_away, 0x5a}, {change::note, 1}}),
          with(usual, {{change::forbid, 0x0f}, {change::group, 0x03}}),
          with("pack:2 l2:2 core:2 pu:1", {{change::no_caches, 1}, {change::no_cores, 1}}),
          with("core:3 pu:1", {{change::forbid, 0x01}, {change::take_away, 0x06}})};
}

}  // namespace tri::fuzz
