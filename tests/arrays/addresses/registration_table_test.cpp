// The target's table of registrations, rule by rule.
#include "arrays/addresses/registration_table.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/emulated_registration.hpp"
#include "target_host.hpp"

namespace tri::arrays {
namespace {

using testing::ElementsAre;

// FA-71
TEST(registration_table, a_second_registration_of_an_area_adds_a_reference_only) {
  target_host host(chunks_up_to(4));
  const auto first = host.table.begin_local_use(5000, 100, host.out);
  const auto second = host.table.begin_local_use(5000, 100, host.out);
  const auto within = host.table.begin_local_use(5040, 10, host.out);
  ASSERT_TRUE(first && second && within);
  EXPECT_EQ(first->where, second->where);
  EXPECT_EQ(within->where, (remote_address{.address = 5040, .key = first->where.key}));
  EXPECT_EQ(host.table.count().lookups, 3U);
  EXPECT_EQ(host.table.count().registrations, 1U);
  EXPECT_THAT(host.registrar.registered, ElementsAre(5000));
  host.table.for_each([](const auto& area) { EXPECT_EQ(area.local_uses, 3U); });
  EXPECT_FALSE(host.table.release_private(5000, 100));
  for (const auto& use : {first, second, within}) host.table.end_local_use(use->area);
  EXPECT_TRUE(host.table.release_private(5000, 100));
  EXPECT_THAT(host.registrar.deregistered, ElementsAre(5000));
}

TEST(registration_table, a_remote_access_and_a_local_use_share_the_registration) {
  target_host host(chunks_up_to(4));
  const auto reply = host.access(1, 2);
  const auto use = host.table.begin_local_use(base + 2 * chunk_bytes + 8, 16, host.out);
  ASSERT_TRUE(reply && use);
  EXPECT_EQ(reply->where.address, base + 2 * chunk_bytes);
  EXPECT_EQ(use->where, (remote_address{.address = base + 2 * chunk_bytes + 8, .key = reply->where.key}));
  EXPECT_EQ(host.table.count().registrations, 1U);
  EXPECT_FALSE(host.table.begin_local_use(base + chunk_bytes - 8, 16, host.out)) << "two chunks";
  EXPECT_FALSE(host.table.begin_local_use(base - 8, 16, host.out)) << "partly private";
  EXPECT_EQ(host.table.count().without_address, 2U);
  host.table.end_local_use(use->area);
}

// FA-72
TEST(registration_table, everything_is_registered_once_by_the_first_access) {
  constexpr std::uint64_t bytes = 100'000;
  target_host host({.chunks = {.strategy = registration_strategy::everything}}, 5, bytes);
  const auto first = host.access(1, 0);
  const auto second = host.access(2, 0);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->where, second->where);
  EXPECT_EQ(host.table.count().registrations, 1U);
  EXPECT_TRUE(host.registrar.adapter.check(base, bytes, first->where.key));
  EXPECT_FALSE(host.table.free_array(array, host.out));
  EXPECT_THAT(host.receivers(), ElementsAre(1, 2));
  host.acknowledge_all();
  EXPECT_EQ(host.table.next_freed(), array);
  EXPECT_EQ(host.registrar.adapter.registered(), 0U);
}

TEST(registration_table, beyond_the_contiguous_limit_there_are_no_addresses_and_no_errors) {
  constexpr std::uint64_t limit = 32 << 20;
  target_host host({.chunks = {.strategy = registration_strategy::everything}}, 5, limit + 1,
                   {.contiguous_bytes = limit});
  EXPECT_FALSE(host.access(1, 0));
  EXPECT_FALSE(host.access(1, 0));
  EXPECT_EQ(host.table.count().too_large, 2U);
  EXPECT_EQ(host.registrar.adapter.count().refused, 0U) << "the adapter is not even asked";
  host.table.add_array(10, 1 << 30, limit);
  EXPECT_TRUE(host.table.on_access(1, 10, 0, host.out));
  EXPECT_TRUE(host.table.free_array(array, host.out));
}

TEST(registration_table, with_everything_the_first_arrays_have_the_addresses) {
  target_host host({.chunks = {.strategy = registration_strategy::everything}, .most_bytes = 20 * chunk_bytes});
  host.table.add_array(10, 1 << 30, 16 * chunk_bytes);
  ASSERT_TRUE(host.access(1, 0));
  EXPECT_FALSE(host.table.on_access(1, 10, 0, host.out));
  EXPECT_TRUE(host.out.empty());
  EXPECT_EQ(host.table.count().too_large, 0U);
  EXPECT_FALSE(host.table.free_array(array, host.out));
  host.acknowledge_all();
  EXPECT_TRUE(host.table.on_access(1, 10, 0, host.out));
}

// FA-73
TEST(registration_table, three_elements_in_three_chunks_register_three_chunks) {
  emulated_registration adapter;
  registration_table table(2, 0, adapter);
  const chunking how;
  ASSERT_EQ(how.chunk_bytes, 256U << 10U);
  table.add_array(array, base, 64 << 20);
  messages out;
  for (const std::uint64_t offset : {0ULL, 20'000'000ULL, 67'108'856ULL}) {
    const auto reply = table.on_access(1, array, how.chunk_of(offset), out);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->where.address, base + how.offset_of(how.chunk_of(offset)));
    EXPECT_TRUE(adapter.check(base + offset, 8, reply->where.key));
  }
  EXPECT_EQ(adapter.registered(), 3U);
  EXPECT_EQ(adapter.registered_bytes(), 3 * how.chunk_bytes);
}

// FA-74: a host with a cache and one with four registrations, whose messages arrive at once.
TEST(registration_table, a_random_walk_over_100_chunks_in_room_for_four) {
  target_host host(chunks_up_to(4), 2, 100 * chunk_bytes);
  address_cache cache(2);
  std::mt19937_64 random(3);
  std::uint64_t hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto chunk = static_cast<chunk_number>(random() % (i % 2 == 0 ? 100 : 6));
    if (const auto use = cache.begin_use({.array = array, .host = 0, .chunk = chunk}, remote_access::get)) {
      ++hits;
      ASSERT_EQ(use->where.address, base + chunk * chunk_bytes);
      ASSERT_TRUE(host.registrar.adapter.check(use->where.address, chunk_bytes, use->where.key));
      ASSERT_FALSE(cache.end_use(use->entry));
      continue;
    }
    const auto reply = host.access(1, chunk);
    for (const outgoing_invalidation& one : std::exchange(host.out, {})) {
      const auto answer = cache.on_invalidation(0, one.what);
      ASSERT_TRUE(answer);
      host.table.on_acknowledgement(1, answer->what);
    }
    if (reply) cache.on_reply(0, *reply);
    ASSERT_LE(host.registrar.adapter.registered(), 4U);
  }
  EXPECT_GT(hits, 0U);
  EXPECT_EQ(host.registrar.adapter.count().errors, 0U);
  const auto& gone = host.registrar.deregistered;
  const auto& made = host.registrar.registered;
  ASSERT_GT(gone.size(), 1000U);
  EXPECT_TRUE(std::equal(gone.begin(), gone.end(), made.begin())) << "first in, first out";
}

// FA-67, FA-68: an address comes with a reply that is sent anyway, and then the target has nothing to do.
TEST(registration_table, a_second_access_needs_no_message) {
  target_host host(chunks_up_to(4));
  address_cache cache(5);
  const address_key key{.array = array, .host = 0, .chunk = 3};
  ASSERT_FALSE(cache.begin_use(key, remote_access::get));
  const auto reply = host.access(1, 3);
  ASSERT_TRUE(reply);
  cache.on_reply(0, *reply);
  for (int i = 0; i < 10; ++i) {
    const auto use = cache.begin_use(key, i % 2 == 0 ? remote_access::get : remote_access::put);
    ASSERT_TRUE(use);
    EXPECT_TRUE(host.registrar.adapter.check(use->where.address, chunk_bytes, use->where.key));
    EXPECT_FALSE(cache.end_use(use->entry));
  }
  EXPECT_EQ(host.table.count().lookups, 1U);
  EXPECT_TRUE(host.out.empty());
}

TEST(registration_table, the_first_that_is_not_in_use_here_makes_room) {
  target_host host(chunks_up_to(3));
  for (const chunk_number chunk : {4U, 5U, 6U}) EXPECT_TRUE(host.access(1, chunk));
  const auto use = host.use(4);
  ASSERT_TRUE(use);
  EXPECT_FALSE(host.access(1, 7)) << "by the ordinary path; it is registered for the next access";
  EXPECT_THAT(host.chunks_in(state::leaving), ElementsAre(5));
  host.acknowledge_all();
  EXPECT_THAT(host.chunks_in(state::registered), ElementsAre(4, 6, 7));
  EXPECT_TRUE(host.access(1, 7));
  host.table.end_local_use(use->area);
}

TEST(registration_table, without_a_victim_accesses_take_the_ordinary_path) {
  target_host host(chunks_up_to(2));
  const auto first = host.use(0);
  const auto second = host.use(1);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(host.access(1, 2));
  EXPECT_TRUE(host.out.empty());
  EXPECT_THAT(host.chunks_in(state::wanted), ElementsAre());
  host.table.end_local_use(first->area);
  EXPECT_TRUE(host.access(1, 2)) << "no other host knows the victim: it goes at once";
  EXPECT_THAT(host.chunks_in(state::registered), ElementsAre(1, 2));
  host.table.end_local_use(second->area);
}

// FA-75, the target's side
TEST(registration_table, deregisters_behind_the_last_acknowledgement) {
  target_host host(chunks_up_to(1));
  const auto old = host.access(1, 0);
  ASSERT_TRUE(old && host.access(2, 0));
  EXPECT_FALSE(host.access(1, 1));
  EXPECT_THAT(host.receivers(), ElementsAre(1, 2));
  EXPECT_FALSE(host.access(3, 0)) << "an address that is on its way out is not given out";
  EXPECT_FALSE(host.use(0));
  const messages sent = std::exchange(host.out, {});
  host.acknowledge(sent[0]);
  EXPECT_TRUE(host.registrar.adapter.check(base, chunk_bytes, old->where.key)) << "host 2 may be at it";
  EXPECT_TRUE(host.registrar.deregistered.empty());
  host.acknowledge(sent[1]);
  EXPECT_FALSE(host.registrar.adapter.check(base, chunk_bytes, old->where.key));
  EXPECT_THAT(host.chunks_in(state::registered), ElementsAre(1)) << "what had made it go";
}

TEST(registration_table, replies_carry_the_epoch_of_the_last_invalidation) {
  target_host host(chunks_up_to(1));
  EXPECT_EQ(host.access(1, 0)->epoch, 0U);
  EXPECT_FALSE(host.access(1, 1));
  EXPECT_EQ(host.out.at(0).what.epoch, 1U);
  host.acknowledge_all();
  EXPECT_EQ(host.access(1, 1)->epoch, 1U);
}

// FA-76
TEST(registration_table, hosts_beyond_the_list_make_the_invalidation_a_broadcast) {
  target_host host(chunks_up_to(2, 2));
  for (const host_number from : {1U, 3U, 3U, 1U}) EXPECT_TRUE(host.access(from, 0));
  for (const host_number from : {1U, 3U, 4U}) EXPECT_TRUE(host.access(from, 1));
  EXPECT_FALSE(host.access(1, 2));
  EXPECT_THAT(host.receivers(), ElementsAre(1, 3)) << "two are listed";
  EXPECT_EQ(host.table.count().broadcasts, 0U);
  host.acknowledge_all();
  EXPECT_FALSE(host.access(1, 3));
  EXPECT_THAT(host.receivers(), ElementsAre(1, 2, 3, 4)) << "three were too many for the list";
  EXPECT_EQ(host.table.count().broadcasts, 1U);
  EXPECT_EQ(host.table.count().invalidations, 6U);
  host.acknowledge_all();
  EXPECT_EQ(host.registrar.deregistered.size(), 2U);
}

// FA-77
TEST(registration_table, what_is_not_in_use_stays_registered_and_costs_nothing_again) {
  registration_options options = chunks_up_to(4);
  emulated_registration adapter({}, {.register_ns = 1000, .register_page_ns = 10, .deregister_ns = 2000});
  registration_table table(3, 0, adapter, options);
  table.add_array(array, base, 4 * chunk_bytes);
  messages out;
  const auto use = table.begin_local_use(base, chunk_bytes, out);
  table.end_local_use(use->area);
  EXPECT_EQ(adapter.count().cost_ns, 1010U);
  const auto again = table.begin_local_use(base, chunk_bytes, out);
  const auto reply = table.on_access(1, array, 0, out);
  ASSERT_TRUE(again && reply);
  EXPECT_EQ(again->where.key, use->where.key);
  EXPECT_EQ(reply->where.key, use->where.key);
  EXPECT_EQ(adapter.count().cost_ns, 1010U);
  EXPECT_EQ(adapter.count().registrations, 1U);
  EXPECT_EQ(adapter.count().deregistrations, 0U);
  table.end_local_use(again->area);
}

TEST(registration_table, a_new_registration_has_a_new_key) {
  target_host host(chunks_up_to(1));
  const auto first = host.access(1, 0);
  EXPECT_FALSE(host.access(1, 1));
  host.acknowledge_all();
  const auto second = host.access(1, 0);  // no host knows chunk 1, so it goes at once
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->where.address, second->where.address);
  EXPECT_NE(first->where.key, second->where.key);
}

// FA-70, the target's side
TEST(registration_table, a_freed_array_waits_for_acknowledgements_and_local_uses) {
  target_host host(chunks_up_to(4));
  ASSERT_TRUE(host.access(1, 0) && host.access(2, 1));
  const auto use = host.use(2);
  EXPECT_FALSE(host.table.free_array(array, host.out));
  EXPECT_THAT(host.receivers(), ElementsAre(1, 2));
  EXPECT_FALSE(host.access(1, 0));
  EXPECT_FALSE(host.use(3));
  EXPECT_THROW(host.table.add_array(array, base, chunk_bytes), std::logic_error);
  EXPECT_THROW(static_cast<void>(host.table.free_array(array, host.out)), std::logic_error);
  host.acknowledge_all();
  EXPECT_FALSE(host.table.next_freed());
  host.table.end_local_use(use->area);
  EXPECT_EQ(host.table.next_freed(), array);
  EXPECT_FALSE(host.table.next_freed());
  EXPECT_EQ(host.registrar.adapter.registered(), 0U);
  host.table.add_array(array, base, chunk_bytes);
  EXPECT_TRUE(host.access(1, 0));
}

TEST(registration_table, an_array_without_known_addresses_is_freed_at_once) {
  target_host host(chunks_up_to(4));
  const auto use = host.use(2);
  host.table.end_local_use(use->area);
  EXPECT_TRUE(host.table.free_array(array, host.out));
  EXPECT_FALSE(host.table.next_freed());
  EXPECT_TRUE(host.out.empty());
  EXPECT_EQ(host.registrar.adapter.registered(), 0U);
  host.table.add_array(array, base, 0);
  EXPECT_TRUE(host.table.free_array(array, host.out));
}

TEST(registration_table, freeing_cancels_what_is_wanted_and_serves_what_others_want) {
  target_host host(chunks_up_to(2));
  host.table.add_array(10, 1 << 30, 4 * chunk_bytes);
  ASSERT_TRUE(host.access(1, 0));
  ASSERT_TRUE(host.table.on_access(1, 10, 0, host.out));
  EXPECT_FALSE(host.access(1, 1));                         // makes array 9's chunk 0 go
  EXPECT_FALSE(host.table.on_access(1, 10, 1, host.out));  // and array 10's
  EXPECT_THAT(host.chunks_in(state::wanted), ElementsAre(1, 1));
  EXPECT_FALSE(host.table.free_array(array, host.out));
  EXPECT_THAT(host.chunks_in(state::wanted), ElementsAre(1));
  EXPECT_EQ(host.out.size(), 2U) << "both leave already";
  host.acknowledge(host.out[0]);
  EXPECT_EQ(host.table.next_freed(), array);
  EXPECT_THAT(host.chunks_in(state::registered), ElementsAre(1));
  EXPECT_TRUE(host.table.on_access(1, 10, 1, host.out));
}

TEST(registration_table, what_goes_at_once_makes_room_for_what_waits_for_a_victim) {
  for (const bool is_private : {false, true}) {
    target_host host(chunks_up_to(2));
    host.table.add_array(10, 1 << 30, 4 * chunk_bytes);
    ASSERT_TRUE(host.table.on_access(1, 10, 0, host.out));
    const auto use = is_private ? host.table.begin_local_use(5000, chunk_bytes, host.out) : host.use(1);
    host.table.end_local_use(use->area);
    EXPECT_FALSE(host.table.on_access(1, 10, 1, host.out));  // waits for array 10's chunk 0
    if (is_private)
      EXPECT_TRUE(host.table.release_private(5000, chunk_bytes));
    else
      EXPECT_TRUE(host.table.free_array(array, host.out));
    EXPECT_THAT(host.chunks_in(state::leaving), ElementsAre(0));
    EXPECT_THAT(host.chunks_in(state::registered), ElementsAre(1));
    host.acknowledge_all();
  }
}

TEST(registration_table, private_memory_that_waits_is_forgotten_when_it_is_released) {
  target_host host(chunks_up_to(1));
  ASSERT_TRUE(host.access(1, 0));
  EXPECT_FALSE(host.table.begin_local_use(5000, chunk_bytes, host.out));
  EXPECT_EQ(host.chunks_in(state::wanted).size(), 1U);
  EXPECT_TRUE(host.table.release_private(5000, 1));
  EXPECT_EQ(host.chunks_in(state::wanted).size(), 0U);
  host.acknowledge_all();
  EXPECT_EQ(host.table.registered(), 0U);
}

TEST(registration_table, a_transport_that_refuses_leaves_the_ordinary_path) {
  target_host host(chunks_up_to(4));
  host.registrar.refuses = true;
  EXPECT_FALSE(host.access(1, 0));
  EXPECT_EQ(host.table.count().refused, 1U);
  host.registrar.refuses = false;
  EXPECT_TRUE(host.access(1, 0));
}

TEST(registration_table, errors_name_what_was_wrong) {
  target_host host(chunks_up_to(1));
  const auto text_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(text_of([&] { host.access(1, 16); }),
            "addresses of arrays: host 1, array 9, chunk 16: the array has no such chunk on this host");
  EXPECT_EQ(text_of([&] { host.access(5, 0); }),
            "addresses of arrays: host 5, array 9, chunk 0: requests come from other hosts of the job");
  EXPECT_EQ(text_of([&] {
              host.table.on_acknowledgement(1, {array, 0, 3});
            }),
            "addresses of arrays: host 1, array 9, chunk 0: acknowledges epoch 3, which waits for nothing");
  host.access(1, 0);
  host.access(1, 1);
  EXPECT_NE(text_of([&] { host.table.on_acknowledgement(1, {array, 0, 2}); }), "") << "epoch 1 is waited for";
  EXPECT_EQ(text_of([&] { host.table.end_local_use(7); }),
            "registration table: a use of area 7 ends that did not begin");
  EXPECT_EQ(text_of([&] { host.table.add_array(10, base + 8, 8); }),
            "registration table: array 10 overlaps another one");
  EXPECT_EQ(text_of([&] { host.table.add_array(10, base - 8, 9); }),
            "registration table: array 10 overlaps another one");
  EXPECT_EQ(text_of([&] { static_cast<void>(host.table.free_array(10, host.out)); }),
            "registration table: array 10 is freed, but is not here");
  EXPECT_THROW(registration_table(2, 2, host.registrar), std::invalid_argument);
  EXPECT_THROW(registration_table(2, 0, host.registrar, {.chunks = {.chunk_bytes = 3}}), std::invalid_argument);
}

TEST(registration_table, an_array_does_not_overlap_private_memory_that_is_registered) {
  target_host host(chunks_up_to(4));
  const auto use = host.table.begin_local_use(5000, 100, host.out);
  host.table.end_local_use(use->area);
  EXPECT_THROW(host.table.add_array(10, 5050, 100), std::logic_error);
  EXPECT_TRUE(host.table.release_private(5000, 100));
  host.table.add_array(10, 5050, 100);
}

}  // namespace
}  // namespace tri::arrays
