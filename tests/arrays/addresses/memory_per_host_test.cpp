// What a host keeps about others, by counting what it takes from the heap: hosts that it has never talked to cost next
// to nothing, however many there are.
#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/emulated_registration.hpp"
#include "arrays/addresses/registration_table.hpp"
#include "flow/counted_heap.hpp"

namespace tri::arrays {
namespace {

/// A host that has arrays, has talked to 16 others in both roles, and knows `hosts`.
std::int64_t bytes_with(std::size_t hosts) {
  flow::reset_count();
  const flow::counting here;
  address_cache cache(hosts);
  emulated_registration adapter({.total_bytes = std::uint64_t{8} << 20U});
  registration_table table(hosts, 0, adapter);
  std::vector<outgoing_invalidation> out;
  for (array_handle array = 1; array <= 100; ++array) table.add_array(array, array << 20U, 1U << 20U);
  for (host_number host = 1; host <= 15; ++host) {
    EXPECT_TRUE(table.on_access(host, host, 0, out));
    cache.on_reply(host, {.array = 1, .chunk = 0, .epoch = 0, .where = {.address = 4096, .key = host}});
    EXPECT_TRUE(cache.on_invalidation(host, {.array = 1, .chunk = 0, .epoch = 1}));
  }
  EXPECT_TRUE(out.empty());
  return flow::counted();
}

// FA-37
TEST(memory_per_host, is_below_64_bytes_for_hosts_never_talked_to) {
  const std::int64_t few = bytes_with(16);
  EXPECT_GT(few, 0);
  for (const std::size_t hosts : {1024U, 65'536U}) {
    const std::int64_t many = bytes_with(hosts);
    EXPECT_LE(many - few, static_cast<std::int64_t>(64 * (hosts - 16)));
    EXPECT_EQ(many, few);  // today: nothing at all
  }
}

}  // namespace
}  // namespace tri::arrays
