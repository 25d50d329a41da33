#include "arrays/cache_rows.hpp"

#include <malloc.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/emulated_registration.hpp"
#include "arrays/addresses/registration_table.hpp"
#include "messages/pes.hpp"
#include "trireme/arrays.hpp"
#include "trireme/detail/arrays/direct_access.hpp"
#include "trireme/group.hpp"

namespace tri::bench {
namespace {

constexpr std::int64_t words_of_chunk = (std::int64_t{256} << 10) / 8;
constexpr std::int64_t words_of_pe = 2 * words_of_chunk;

struct cached_array : tri::group_member<cached_array> {
  tri::global_array<std::uint64_t, 1> words;
  int make() {
    words = tri::global_array<std::uint64_t, 1>(tri::position<1>(2 * words_of_pe), tri::tiles(words_of_pe));
    return 1;
  }
};

const tri::global_array<std::uint64_t, 1>& array() {
  static std::optional<tri::group<cached_array>> made;
  if (!made) {
    made = tri::make_group<cached_array>();
    made->reduce<&cached_array::make>(tri::sum).get();
  }
  return made->local().words;
}

enum class access : std::uint8_t { get, put };

// From two chunks of PE 1 in turn: a cache with one entry misses always. A put is fenced, so that it is complete.
measurement measure(context& tools, access how, std::int64_t words) {
  const auto& in = array();
  std::vector<std::uint64_t> to(static_cast<std::size_t>(words));
  std::uint64_t operations = 0;
  const arrays::direct_access_figures before = arrays::direct_accesses_of_process();
  measurement made{.samples = tools.runner().time([&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::int64_t first = words_of_pe + static_cast<std::int64_t>(operations++ % 2) * words_of_chunk;
      const tri::region<1> section({first}, {first + words});
      if (how == access::put) {
        if (words == 1)
          in(first) = i;
        else
          in.put(section, to.data()).get();
        tri::fence().get();
      } else if (words == 1) {
        to[0] = in(first);
      } else {
        in.get(section, to.data()).get();
      }
      asm volatile("" : : "r"(to.data()) : "memory");
    }
  })};
  const arrays::direct_access_figures after = arrays::direct_accesses_of_process();
  const auto each = [&](std::uint64_t figure) { return static_cast<double>(figure) / static_cast<double>(operations); };
  made.counts = {{"hits", each(after.hits - before.hits)}, {"misses", each(after.misses - before.misses)}};
  made.note = arrays::describe_direct_accesses();
  return made;
}

// What the heap has handed out.
double heap_bytes() {
  const auto now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

// Of a host that has talked to 16 of them.
double directory_bytes(std::size_t hosts) {
  const double before = heap_bytes();
  const auto cache = std::make_unique<arrays::address_cache>(hosts);
  arrays::emulated_registration adapter;
  const auto table = std::make_unique<arrays::registration_table>(hosts, 0, adapter);
  std::vector<arrays::outgoing_invalidation> out;
  table->add_array(1, 1U << 20U, 1U << 20U);
  for (arrays::host_number host = 1; host < 16; ++host) {
    (void)table->on_access(host, 1, 0, out);
    (void)cache->on_invalidation(host, {.array = 1, .chunk = 0, .epoch = 1});
  }
  return heap_bytes() - before;
}

// Per host more than 16, of which it knows nothing; and the whole directory of 16 in the row for these.
measurement directory(context&, std::size_t hosts) {
  constexpr std::size_t known = 16;
  const double few = directory_bytes(known);
  const double more = hosts == known ? few : directory_bytes(hosts) - few;
  return {.values = {more / static_cast<double>(hosts == known ? known : hosts - known)}};
}

row_definition access_row(access how, const std::string& kind, const char* option, std::int64_t bytes) {
  const std::string name = (how == access::put ? "put_" : "") + kind;
  return {.name = "arrays/cache/" + name + "/" + std::to_string(bytes),
          .unit = "us",
          .handoffs = 0,
          .description = how == access::put ? "bytes of an emulated host are written and fenced, in two chunks in turn"
                                            : "bytes of an emulated host are read, from two chunks in turn",
          .measure = [how, bytes](context& tools) { return measure(tools, how, bytes / 8); },
          .launch = launch{
              .processes = 2, .pes = 1, .options = {"--tri-hosts=2", "--tri-wire=tcp", "--tri-rma=emulated", option}}};
}

}  // namespace

std::vector<row_definition> array_cache_rows() {
  std::vector<row_definition> rows;
  for (const auto& [kind, option] :
       {std::pair("hit", "--tri-rma-cache-entries=100"), std::pair("miss", "--tri-rma-cache-entries=1"),
        std::pair("off", "--tri-rma-cache-entries=0")})
    for (const access how : {access::get, access::put})
      for (const std::int64_t bytes : {8, 1024, 65536}) rows.push_back(access_row(how, kind, option, bytes));
  for (const std::size_t hosts : {16U, 1024U, 65536U})
    rows.push_back({.name = "arrays/directory_bytes_per_host/" + std::to_string(hosts),
                    .unit = "bytes",
                    .target = hosts == 16 ? std::nullopt : std::optional(64.0),
                    .handoffs = 0,
                    .description = hosts == 16 ? "directory of remote addresses, per host it has talked to"
                                               : "the same, per host it has never talked to (computed)",
                    .measure = [hosts](context& tools) { return directory(tools, hosts); }});
  return rows;
}

}  // namespace tri::bench
