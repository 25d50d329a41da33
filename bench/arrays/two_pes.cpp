#include "arrays/two_pes.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "framework/cacheline.hpp"
#include "messages/pes.hpp"
#include "mpi/host_network.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::bench {

const std::vector<array_place>& array_places() {
  const auto hosts = [](const std::string& wire) {
    return launch{.processes = 2, .pes = 1, .options = {"--tri-hosts=2", "--tri-wire=" + wire}};
  };
  const auto namespaces = [](const std::string& wire) {
    // Each host has all cores for itself, as far as it knows; the two take different ones by themselves.
    return launch{.processes = 2,
                  .pes = 1,
                  .options = {"--tri-affinity=none", "--tri-wire=" + wire},
                  .on_hosts = on_hosts({.hosts = 2, .veth = true}),
                  .why_not = &why_no_host_network};
  };
  static const std::vector<array_place> places = {{"same_host", two_processes, peer_place::same_host},
                                                  {"hosts", hosts("tcp"), peer_place::loopback},
                                                  {"hosts_ucx", hosts("ucx"), peer_place::loopback},
                                                  {"veth", namespaces("tcp"), peer_place::veth},
                                                  {"veth_ucx", namespaces("ucx"), peer_place::veth}};
  return places;
}

int arrays_of_pe::make() {
  if (os::cpus_of_this_thread().size() > 1) {  // the runtime has not pinned it
    const cpu_pair cpus = two_cpus();
    os::pin_this_thread(tri::this_pe() == 0 ? cpus.first : cpus.second);
  }
  table = tri::global_array<std::uint64_t, 1>(tri::position<1>(2 * table_words), tri::tiles(table_words));
  walk = tri::global_array<std::uint64_t, 1>(tri::position<1>(2 * table_words), tri::tiles(table_words));
  matrix = tri::global_array<double, 2>({matrix_rows, 2 * matrix_rows}, tri::grid(1, 2));
  tri::for_each_own(walk, [](const tri::position<1>& at, std::uint64_t& word) {
    // A linear congruential sequence of full period (Hull and Dobell 1962), whose steps no prefetcher follows.
    const auto next = (static_cast<std::uint64_t>(at[0]) * 2'862'933'555'777'941'757U + 3'037'000'493U) % table_words;
    word = static_cast<std::uint64_t>(table_words) + next;
  });
  return 1;
}

void* allocate_pages(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t rounded = (bytes + page - 1) / page * page;
  void* const memory = std::aligned_alloc(page, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return std::memset(memory, 0, rounded);
}

const tri::group<arrays_of_pe>& arrays_of_two_pes() {
  static std::optional<tri::group<arrays_of_pe>> made;
  if (!made) {
    made = tri::make_group<arrays_of_pe>();
    if (made->reduce<&arrays_of_pe::make>(tri::sum).get() != 2) throw std::logic_error("arrays: two PEs are needed");
  }
  return *made;
}

}  // namespace tri::bench
