// The machine as far as placement needs it: the CPUs ("PU": a hardware thread) that this process may use, with the
// core, outermost shared cache, NUMA domain and package of each. From the real machine (through hwloc, which honours
// the affinity mask and the cpuset of the control group), an hwloc XML file, or a synthetic description, so that NUMA
// logic can be tested on any machine. Immutable after load(); any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tri::os {

class topology_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct cache_info {
  int level = 0;
  std::uint64_t bytes = 0;
  std::vector<int> pus;  // numbers of the operating system
};

struct pu {
  int number = 0;  // of the operating system
  int core = 0;    // the others are logical indices within this topology
  int cache = -1;  // outermost cache that covers this PU; -1 where the description has no caches
  int numa = 0;
  int package = 0;
};

// How far apart two PUs are, nearest first.
enum class distance_class : std::uint8_t { same_pu, same_core, same_cache, same_numa, same_host };
const char* to_string(distance_class distance);

class topology {
 public:
  // "auto" (this machine), the path of an hwloc XML file, or "synthetic:<hwloc synthetic description>" such as
  // "synthetic:pack:2 numa:1 core:4 pu:2". Throws topology_error with the description and what would be right.
  static topology load(const std::string& description);

  // load() once per process and description; start-up code asks in several places.
  static const topology& shared(const std::string& description);

  // In the order of the machine, so that neighbours are near each other.
  const std::vector<pu>& pus() const { return pus_; }
  int cores() const { return cores_; }
  int caches() const { return caches_; }
  int numa_domains() const { return numa_domains_; }
  int packages() const { return packages_; }

  // False for XML files and synthetic descriptions: their PU numbers mean nothing to the real operating system.
  bool is_this_machine() const { return is_this_machine_; }
  const std::string& description() const { return description_; }

  // The PU with this number of the operating system; throws topology_error that lists the usable ones.
  const pu& at(int number) const;
  bool has(int number) const;

  distance_class distance(int a, int b) const;  // of two PUs by number

  // CPUs worth of time that the control group allows; nothing without a limit or for other machines.
  std::optional<double> quota() const { return quota_; }
  // How many busy threads make sense: the usable cores (or PUs), but no more than the quota allows. At least 1.
  int useful_cores() const;
  int useful_pus() const;

  const std::vector<cache_info>& all_caches() const { return all_caches_; }  // data and unified caches of all levels
  std::uint64_t memory_bytes() const { return memory_bytes_; }               // of all NUMA domains
  std::string tree() const;                                                  // for people, one line per object

 private:
  std::string description_;
  bool is_this_machine_ = true;
  std::vector<pu> pus_;
  std::vector<cache_info> all_caches_;
  std::uint64_t memory_bytes_ = 0;
  std::optional<double> quota_;
  std::string tree_;
  int cores_ = 0;
  int caches_ = 0;
  int numa_domains_ = 0;
  int packages_ = 0;
};

}  // namespace tri::os
