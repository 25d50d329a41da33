#include "arrays/cache_rows.hpp"

#include <malloc.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/emulated_registration.hpp"
#include "arrays/addresses/registration_table.hpp"
#include "messages/pes.hpp"
#include "os/clock.hpp"
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
class accesses {
 public:
  accesses(access how, std::int64_t words) : how_(how), words_(words), local_(static_cast<std::size_t>(words)) {}
  void run(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::int64_t first = words_of_pe + static_cast<std::int64_t>(done_++ % 2) * words_of_chunk;
      if (how_ == access::get)
        get(first);
      else
        put(first);
      asm volatile("" : : "r"(local_.data()) : "memory");
    }
  }
  std::uint64_t done() const { return done_; }

 private:
  void get(std::int64_t first) {
    if (words_ == 1)
      local_[0] = array()(first);
    else
      array().get({{first}, {first + words_}}, local_.data()).get();
  }
  void put(std::int64_t first) {
    if (words_ == 1)
      array()(first) = local_[0];
    else
      array().put({{first}, {first + words_}}, local_.data()).get();
    tri::fence().get();
  }
  const access how_;
  const std::int64_t words_;
  std::vector<std::uint64_t> local_;
  std::uint64_t done_ = 0;
};

measurement measure(context& tools, access how, std::int64_t words) {
  (void)array();
  accesses made(how, words);
  const arrays::direct_access_figures before = arrays::direct_accesses_of_process();
  measurement result{.samples = tools.runner().time([&](std::uint64_t count) { made.run(count); })};
  const arrays::direct_access_figures after = arrays::direct_accesses_of_process();
  const auto each = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(made.done()); };
  result.counts = {{"hits", each(after.hits - before.hits)}, {"misses", each(after.misses - before.misses)}};
  result.note = arrays::direct_access_settings();
  return result;
}

// Gets that miss always, beside the same without the cache in each batch.
measurement measure_misses(context& tools, std::int64_t words) {
  (void)array();
  accesses made(access::get, words);
  const auto timed = [&](bool with_cache, std::uint64_t count) {
    arrays::switch_address_cache(with_cache);
    const std::int64_t begin = os::now_ns();
    made.run(count);
    return static_cast<double>(os::now_ns() - begin);
  };
  measurement result{.samples = tools.runner().collect([&](std::uint64_t count) {
    const double without = timed(false, count);
    const double with = timed(true, count);
    return batch_result{.elapsed_ns = with, .handoff_ns = without / static_cast<double>(count)};
  })};
  comparison off{.name = "cache off", .ratios = {}};
  for (std::size_t i = 0; i < result.samples.operation_ns.size(); ++i)
    off.ratios.push_back(result.samples.operation_ns[i] / result.samples.handoff_ns[i]);
  result.samples.handoff_ns.clear();
  result.reference = std::move(off);
  result.note = arrays::direct_access_settings();
  return result;
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
  for (const std::int64_t bytes : {8, 1024}) {
    row_definition row = access_row(access::get, "miss", "--tri-rma-cache-entries=1", bytes);
    row.name = "arrays/cache/miss_cost/" + std::to_string(bytes);
    row.target_ratio = 1.02;
    row.description = "gets that miss always, and what they take to the same without the cache";
    row.measure = [bytes](context& tools) { return measure_misses(tools, bytes / 8); };
    rows.push_back(std::move(row));
  }
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
