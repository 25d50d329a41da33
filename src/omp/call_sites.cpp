#include "omp/call_sites.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "omp/fibers/virtual_count.hpp"
#include "omp/fibers/virtual_mode.hpp"
#include "omp/loop_choice.hpp"
#include "omp/native_runtime.hpp"
#include "omp/static_loops.hpp"

namespace tri::omp {
namespace {

constexpr std::size_t table_size = 2048;
constexpr std::size_t probes = 64;

std::array<call_site, table_size>& table() {
  static std::array<call_site, table_size> sites;  // all zero: no constructor runs
  return sites;
}
call_site& everything_else() {
  static call_site site;
  return site;
}

std::uint64_t left_of(const call_site& site) {
  std::uint64_t sum = 0;
  // relaxed: read at the end
  for (const std::atomic<std::uint64_t>& count : site.left) sum += count.load(std::memory_order_relaxed);
  return sum;
}

std::vector<const call_site*> seen_sites() {
  std::vector<const call_site*> seen;
  const auto add = [&](const call_site& site) {
    // relaxed: as above
    if (site.taken.load(std::memory_order_relaxed) + site.by_weights.load(std::memory_order_relaxed) + left_of(site) >
        0) {
      seen.push_back(&site);
    }
  };
  for (const call_site& site : table()) add(site);
  std::sort(seen.begin(), seen.end(), [](const call_site* a, const call_site* b) {
    return a->address.load(std::memory_order_relaxed) <
           b->address.load(std::memory_order_relaxed);  // relaxed: as above
  });
  add(everything_else());
  return seen;
}

// "file:line" from ";file;function;line;column;;", or empty.
std::string source_of(const char* text) {
  if (text == nullptr) return {};
  std::vector<std::string_view> fields;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (fields.size() < 4 || fields[1] == "unknown" || fields[1].empty()) return {};
  return fmt::format("{}, {}:{}", fields[2], fields[1], fields[3]);
}

// addr2line's names of addresses in one object: "function, file:line" or less. Empty texts without addr2line.
std::vector<std::string> names_in(const std::string& object, const std::vector<std::uint64_t>& offsets) {
  std::vector<std::string> names(offsets.size());
  if (object.find('\'') != std::string::npos) return names;
  std::string command = fmt::format("LD_PRELOAD= addr2line -f -C -e '{}'", object);
  for (const std::uint64_t offset : offsets) command += fmt::format(" {:#x}", offset);
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return names;
  char line[4096];
  for (std::size_t index = 0; index < 2 * names.size() && std::fgets(line, sizeof line, pipe) != nullptr; ++index) {
    std::string text = line;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.starts_with("??")) continue;
    if (text.ends_with(":?")) text.erase(text.size() - 2);  // a file without lines: no debugging information
    std::string& name = names[index / 2];
    name += (name.empty() ? "" : ", ") + text;
  }
  pclose(pipe);
  return names;
}

// Where each site is, for people.
std::map<const call_site*, std::string> places_of(const std::vector<const call_site*>& sites) {
  struct in_object {
    std::vector<const call_site*> sites;
    std::vector<std::uint64_t> offsets;
  };
  std::map<const call_site*, std::string> places;
  std::map<std::string, in_object> objects;
  for (const call_site* site : sites) {
    const void* const address = site->address.load(std::memory_order_relaxed);           // relaxed: as above
    const std::string source = source_of(site->source.load(std::memory_order_relaxed));  // relaxed: as above
    Dl_info info{};
    if (address == nullptr) {
      places[site] = "more call sites than the table holds";
    } else if (!source.empty()) {
      places[site] = source;
    } else if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
      places[site] = fmt::format("{}", address);
    } else {
      // A return address may already belong to the next line: the call itself ends one byte before.
      const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
      places[site] = fmt::format("{}+{:#x}", info.dli_fname, offset);
      if (info.dli_sname != nullptr) {
        const auto within =
            reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_saddr);
        places[site] = fmt::format("{}+{:#x} in {}", info.dli_sname, within, info.dli_fname);
      }
      objects[info.dli_fname].sites.push_back(site);
      objects[info.dli_fname].offsets.push_back(offset - 1);
    }
  }
  for (const auto& [object, within] : objects) {
    const std::vector<std::string> names = names_in(object, within.offsets);
    for (std::size_t index = 0; index < names.size(); ++index) {
      if (!names[index].empty()) places[within.sites[index]] = names[index];
    }
  }
  return places;
}

// Of an MPI process, from the variables of the launchers of Open MPI, MPICH and Slurm.
std::string rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* const value = std::getenv(variable)) return fmt::format(", rank {}", value);
  return {};
}

std::string program_name() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "?";
}

}  // namespace

const char* to_text(left_because reason) {
  switch (reason) {
    case left_because::outside:
      return "the drop-in did not intercept the start of its parallel region";
    case left_because::ordered:
      return "ordered";
    case left_because::doacross:
      return "dependences between iterations (doacross)";
    case left_because::reduction:
      return "task reduction or scan";
    case left_because::distributed:
      return "a distribute loop of a teams construct";
    case left_because::too_long:
      return "2^64 iterations";
    case left_because::too_many_threads:
      return "more than 65535 threads";
    case left_because::asked:
      return "schedule is `native`";
    case left_because::equal_blocks:
      return "static, and no weights are asked for";
    case left_because::asked_static:
      return "schedule(runtime), and OMP_SCHEDULE or omp_set_schedule says static";
    case left_because::unknown:
      return "a schedule kind that only the runtime knows";
  }
  return "?";
}

call_site& site_of(const void* address, const char* source) {
  std::size_t entry = (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 40;
  for (std::size_t probe = 0; probe < probes; ++probe, ++entry) {
    call_site& site = table()[entry % table_size];
    const void* there = site.address.load(std::memory_order_relaxed);  // relaxed: the address is the whole message
    if (there == nullptr) {
      // relaxed: as above
      if (site.address.compare_exchange_strong(there, address, std::memory_order_relaxed, std::memory_order_relaxed)) {
        site.source.store(source, std::memory_order_relaxed);  // relaxed: read at the end
        return site;
      }
    }
    if (there == address) return site;
  }
  return everything_else();
}

namespace {

const char* why_no_loop_was_seen() {
  if (find_native_function("omp_get_num_threads") == nullptr) {
    return "  the process has loaded no OpenMP runtime: the program is built without -fopenmp, or is a script whose "
           "programs report for themselves\n";
  }
  if (virtual_mode.load(std::memory_order_acquire) == virtual_state::on)  // pairs: virtual_mode.decide
    return "  no loop asked for a schedule; static loops, and loops without a schedule, run on the virtual threads\n";
  if (std::getenv(virtual_variable) != nullptr)  // requested, and refused with a message of its own
    return "  no loop reached an OpenMP runtime: gcc compiles static loops, and loops without a schedule, into the "
           "program; schedule(runtime) makes them reachable\n";
  return "  no loop reached an OpenMP runtime: gcc compiles static loops, and loops without a schedule, into the "
         "program; schedule(runtime) makes them reachable, and --virtual K does without a change of most programs\n";
}

}  // namespace

void print_report(const char* schedule, bool always) {
  const std::vector<const call_site*> sites = seen_sites();
  if (sites.empty() && !always) return;
  std::uint64_t taken = 0;
  std::uint64_t left = 0;
  std::uint64_t by_weights = 0;
  for (const call_site* site : sites) {
    by_weights += site->by_weights.load(std::memory_order_relaxed);  // relaxed: as above
    taken += site->taken.load(std::memory_order_relaxed);            // relaxed: as above
    left += left_of(*site);
  }
  std::string text = fmt::format(
      "trireme omp: {} (process {}{}), schedule {}: loops intercepted {}, passed through to the OpenMP runtime {}{}\n",
      program_name(), getpid(), rank(), schedule, taken, left,
      by_weights > 0 ? fmt::format(", static loops by weights {}", by_weights) : "");
  const std::map<const call_site*, std::string> places = places_of(sites);
  for (const call_site* site : sites) {
    const std::uint64_t here = site->taken.load(std::memory_order_relaxed);  // relaxed: as above
    if (here > 0) text += fmt::format("  taken {:>10}  {}\n", here, places.at(site));
    const std::uint64_t shared = site->by_weights.load(std::memory_order_relaxed);  // relaxed: as above
    if (shared > 0) text += fmt::format("  static {:>9}  {}\n", shared, places.at(site));
    const void* const address = site->address.load(std::memory_order_relaxed);  // relaxed: as above
    text += learned_of(address) + static_weights_of(address);
    for (std::size_t reason = 0; reason < left_reasons; ++reason) {
      const std::uint64_t count = site->left[reason].load(std::memory_order_relaxed);  // relaxed: as above
      if (count > 0) {
        text +=
            fmt::format("  left  {:>10}  {}: {}\n", count, places.at(site), to_text(static_cast<left_because>(reason)));
      }
    }
  }
  if (sites.empty()) text += why_no_loop_was_seen();
  std::fputs(text.c_str(), stderr);
}

void forget_counts() {
  for (call_site& site : table()) {
    site.taken.store(0, std::memory_order_relaxed);       // relaxed: a forked child is alone
    site.by_weights.store(0, std::memory_order_relaxed);  // relaxed: as above
    for (std::atomic<std::uint64_t>& count : site.left) count.store(0, std::memory_order_relaxed);  // relaxed: as above
  }
  everything_else().taken.store(0, std::memory_order_relaxed);       // relaxed: as above
  everything_else().by_weights.store(0, std::memory_order_relaxed);  // relaxed: as above
  for (std::atomic<std::uint64_t>& count : everything_else().left) {
    count.store(0, std::memory_order_relaxed);  // relaxed: as above
  }
}

}  // namespace tri::omp
