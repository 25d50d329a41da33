// Hit rates of the cache by its size and by the number of hosts, for the access patterns of the DIS Stressmarks:
// pointers and updates go anywhere, neighbourhoods and fields to a few chunks beside the own part. No time is involved.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/chunking.hpp"

namespace tri::arrays {
namespace {

constexpr std::uint64_t elements_of_host = std::uint64_t{1} << 18U;  // of 8 bytes: 2 MiB
constexpr chunking chunks;
constexpr int accesses = 50'000;

struct hit_rate {
  std::uint64_t hits = 0, misses = 0;
  double share() const {
    return static_cast<double>(hits) / static_cast<double>(std::max(hits + misses, std::uint64_t{1}));
  }
};

/// `next(i)` is the number of an element of all hosts; the cache is that of host 0.
template <class Next>
hit_rate rate_of(std::size_t hosts, std::size_t entries, Next&& next) {
  address_cache cache(hosts, {.most_entries = entries});
  for (int i = 0; i < accesses; ++i) {
    const std::uint64_t element = next(i) % (elements_of_host * hosts);
    const auto host = static_cast<host_number>(element / elements_of_host);
    if (host == 0) continue;  // the own part
    const chunk_number chunk = chunks.chunk_of(element % elements_of_host * 8);
    if (const auto use = cache.begin_use({.array = 1, .host = host, .chunk = chunk}, remote_access::get)) {
      EXPECT_EQ(cache.end_use(use->entry), std::nullopt);
    } else {
      cache.on_reply(host, {.array = 1, .chunk = chunk, .epoch = 0, .where = {.address = element, .key = chunk + 1U}});
    }
  }
  return {cache.count().hits, cache.count().misses};
}

double pointer(std::size_t hosts, std::size_t entries) {
  std::mt19937_64 random(5);
  return rate_of(hosts, entries, [&](int) { return random(); }).share();
}
// Pairs of pixels at a distance of 10 rows, the first in the own part.
double neighbourhood(std::size_t hosts, std::size_t entries) {
  std::mt19937_64 random(6);
  constexpr std::uint64_t row = 512;
  return rate_of(hosts, entries, [&](int) { return random() % elements_of_host + 10 * row; }).share();
}
// A scan of the own part that goes on a little into the next one.
double field(std::size_t hosts, std::size_t entries) {
  return rate_of(hosts, entries, [&](int i) { return elements_of_host - 1000 + static_cast<std::uint64_t>(i) % 3000; })
      .share();
}

// FA-85
TEST(hit_rate, of_pointers_falls_with_hosts_and_with_smaller_caches) {
  double before = 1.1;
  for (const std::size_t hosts : {2U, 8U, 32U, 128U}) {
    const double large = pointer(hosts, 1000), usual = pointer(hosts, 100), small = pointer(hosts, 10);
    std::printf("%3zu hosts: pointer %.3f %.3f %.3f (1000, 100, 10 entries), neighbourhood %.3f, field %.3f\n", hosts,
                large, usual, small, neighbourhood(hosts, 100), field(hosts, 100));
    EXPECT_GE(large, usual);
    EXPECT_GE(usual, small);
    EXPECT_LE(usual, before);
    before = usual;
    if (hosts >= 32) {  // 8 chunks of each host: most addresses are not in the cache
      EXPECT_LT(usual, 0.5);
      EXPECT_LT(small, 0.1);
    }
  }
}

TEST(hit_rate, of_neighbourhoods_and_fields_is_the_same_on_any_number_of_hosts) {
  for (const std::size_t entries : {4U, 100U}) {
    const double near = neighbourhood(2, entries), scanned = field(2, entries);
    EXPECT_GT(near, 0.99);
    EXPECT_GT(scanned, 0.99);
    for (const std::size_t hosts : {8U, 32U, 128U}) {
      EXPECT_DOUBLE_EQ(neighbourhood(hosts, entries), near);
      EXPECT_DOUBLE_EQ(field(hosts, entries), scanned);
    }
  }
}

}  // namespace
}  // namespace tri::arrays
