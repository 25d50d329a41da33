// The initiator's cache of addresses: rule by rule, and 100 000 random calls beside a simple model.
#include "arrays/addresses/address_cache.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

namespace tri::arrays {
namespace {

constexpr host_number target = 1;

address_key key_of(chunk_number chunk, array_handle array = 5) {
  return {.array = array, .host = target, .chunk = chunk};
}
reply_address reply_of(chunk_number chunk, registration_key key, invalidation_epoch epoch = 0) {
  return {.array = 5, .chunk = chunk, .epoch = epoch, .where = {.address = 4096 * (chunk + 1U), .key = key}};
}
invalidation invalidation_of(chunk_number chunk, invalidation_epoch epoch) {
  return {.array = 5, .chunk = chunk, .epoch = epoch};
}
// Hit or miss, with the use ended at once.
bool hits(address_cache& cache, chunk_number chunk, remote_access access = remote_access::get) {
  const auto use = cache.begin_use(key_of(chunk), access);
  if (!use) return false;
  EXPECT_EQ(cache.end_use(use->entry), std::nullopt);
  return true;
}
std::vector<chunk_number> chunks_by_age(const address_cache& cache) {
  std::vector<chunk_number> chunks;
  cache.for_each([&](const address_key& key, const remote_address&, std::uint32_t) { chunks.push_back(key.chunk); });
  return chunks;
}

TEST(address_cache, has_the_address_that_came_with_a_reply) {
  address_cache cache(2);
  EXPECT_FALSE(hits(cache, 0));
  cache.on_reply(target, reply_of(0, 77));
  const auto use = cache.begin_use(key_of(0), remote_access::get);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->where, (remote_address{.address = 4096, .key = 77}));
  EXPECT_EQ(cache.end_use(use->entry), std::nullopt);
  EXPECT_FALSE(hits(cache, 1));
  EXPECT_FALSE(cache.begin_use({.array = 5, .host = 0, .chunk = 0}, remote_access::get));
  EXPECT_FALSE(cache.begin_use({.array = 6, .host = target, .chunk = 0}, remote_access::get));
  EXPECT_EQ(cache.count().hits, 1U);
  EXPECT_EQ(cache.count().misses, 4U);
  EXPECT_EQ(cache.count().insertions, 1U);
}

// FA-69
TEST(address_cache, evicts_150_objects_from_100_entries_by_least_recent_use) {
  address_cache cache(2);
  ASSERT_EQ(cache.most_entries(), 100U);
  for (chunk_number i = 0; i < 100; ++i) cache.on_reply(target, reply_of(i, i));
  for (chunk_number i = 0; i < 100; i += 2) EXPECT_TRUE(hits(cache, i));  // the odd ones are older now
  for (chunk_number i = 100; i < 150; ++i) {
    cache.on_reply(target, reply_of(i, i));
    EXPECT_EQ(cache.size(), 100U);
    EXPECT_FALSE(hits(cache, 2 * (i - 100) + 1)) << "of the odd ones the oldest goes first";
  }
  EXPECT_EQ(cache.count().evictions, 50U);
  for (chunk_number i = 0; i < 150; ++i) {
    const auto use = cache.begin_use(key_of(i), remote_access::get);
    ASSERT_EQ(use.has_value(), i >= 100 || i % 2 == 0) << i;
    if (!use) continue;
    EXPECT_EQ(use->where, (remote_address{.address = 4096 * (i + 1U), .key = i}));
    EXPECT_EQ(cache.end_use(use->entry), std::nullopt);
  }
}

TEST(address_cache, an_entry_in_use_is_not_evicted) {
  address_cache cache(2, {.most_entries = 2});
  cache.on_reply(target, reply_of(0, 1));
  const auto use = cache.begin_use(key_of(0), remote_access::get);
  cache.on_reply(target, reply_of(1, 2));
  cache.on_reply(target, reply_of(2, 3));  // 0 is the oldest, but in use
  EXPECT_THAT(chunks_by_age(cache), testing::ElementsAre(2, 0));
  const auto other = cache.begin_use(key_of(2), remote_access::get);
  cache.on_reply(target, reply_of(3, 4));
  EXPECT_THAT(chunks_by_age(cache), testing::ElementsAre(2, 0));
  EXPECT_EQ(cache.count().all_in_use, 1U);
  EXPECT_EQ(cache.end_use(use->entry), std::nullopt);
  EXPECT_EQ(cache.end_use(other->entry), std::nullopt);
  cache.on_reply(target, reply_of(3, 4));
  EXPECT_THAT(chunks_by_age(cache), testing::ElementsAre(3, 2));
}

// FA-75, the initiator's side
TEST(address_cache, acknowledges_behind_the_last_use) {
  address_cache cache(2);
  cache.on_reply(target, reply_of(0, 1));
  const auto first = cache.begin_use(key_of(0), remote_access::get);
  const auto second = cache.begin_use(key_of(0), remote_access::put);
  EXPECT_EQ(cache.on_invalidation(target, invalidation_of(0, 1)), std::nullopt);
  EXPECT_EQ(cache.leaving(), 1U);
  EXPECT_FALSE(hits(cache, 0)) << "new operations would put off the end";
  EXPECT_EQ(cache.end_use(first->entry), std::nullopt);
  const auto answer = cache.end_use(second->entry);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->to, target);
  EXPECT_EQ(answer->what.array, 5U);
  EXPECT_EQ(answer->what.chunk, 0U);
  EXPECT_EQ(answer->what.epoch, 1U);
  EXPECT_EQ(cache.leaving(), 0U);
}

TEST(address_cache, acknowledges_what_it_does_not_have) {
  address_cache cache(2, {.most_entries = 1});
  cache.on_reply(target, reply_of(0, 1));
  cache.on_reply(target, reply_of(1, 2));  // evicts 0 without a message
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(0, 1)));
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(1, 2)));
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(1, 3)));
  EXPECT_EQ(cache.count().invalidations, 3U);
  EXPECT_EQ(cache.size(), 0U);
}

TEST(address_cache, a_reply_from_before_an_invalidation_brings_no_address) {
  address_cache cache(3);
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(0, 4)));
  cache.on_reply(target, reply_of(0, 1, 3));
  EXPECT_FALSE(hits(cache, 0));
  EXPECT_EQ(cache.count().late_replies, 1U);
  cache.on_reply(2, reply_of(0, 1, 3));  // another host's epochs
  cache.on_reply(target, reply_of(0, 2, 4));
  EXPECT_TRUE(hits(cache, 0));
  EXPECT_EQ(cache.size(), 2U);
}

TEST(address_cache, a_late_invalidation_lowers_no_epoch) {
  address_cache cache(2);
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(0, 4)));
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(1, 3)));
  cache.on_reply(target, reply_of(0, 1, 3));
  EXPECT_FALSE(hits(cache, 0));
}

TEST(address_cache, a_second_address_without_an_invalidation_is_an_error) {
  address_cache cache(2);
  cache.on_reply(target, reply_of(0, 1));
  cache.on_reply(target, reply_of(0, 1));
  EXPECT_EQ(cache.count().insertions, 1U);
  try {
    cache.on_reply(target, reply_of(0, 2));
    FAIL();
  } catch (const address_protocol_error& error) {
    EXPECT_STREQ(error.what(),
                 "addresses of arrays: host 1, array 5, chunk 0: an address with key 2, but that with key 1 was not "
                 "invalidated");
  }
}

TEST(address_cache, the_wrong_host_or_use_is_an_error) {
  address_cache cache(2);
  EXPECT_THROW(cache.on_reply(2, reply_of(0, 1)), address_protocol_error);
  EXPECT_THROW(static_cast<void>(cache.on_invalidation(2, invalidation_of(0, 1))), address_protocol_error);
  EXPECT_THROW(static_cast<void>(cache.end_use(0)), std::logic_error);
  EXPECT_THROW(static_cast<void>(cache.end_use(1000)), std::logic_error);
  EXPECT_THROW(address_cache(2, {.most_entries = 0}), std::invalid_argument);
}

// FA-67, its switch
TEST(address_cache, turned_off_it_misses_and_still_acknowledges) {
  address_cache cache(2, {.is_on = false});
  EXPECT_FALSE(cache.wants_address(remote_access::get));
  cache.on_reply(target, reply_of(0, 1));
  EXPECT_FALSE(hits(cache, 0));
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(0, 1)));
  cache.turn(true);
  cache.on_reply(target, reply_of(0, 2, 1));
  EXPECT_TRUE(hits(cache, 0));
  cache.turn(false);
  EXPECT_FALSE(hits(cache, 0));
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(0, 2)));
  cache.turn(true);
  EXPECT_FALSE(hits(cache, 0)) << "invalidated while it was off";
}

// FA-78
TEST(address_cache, puts_can_be_left_out_and_gets_are_not_concerned) {
  address_cache cache(2, {.caches_puts = false});
  EXPECT_FALSE(cache.wants_address(remote_access::put));
  EXPECT_TRUE(cache.wants_address(remote_access::get));
  cache.on_reply(target, reply_of(0, 1));
  EXPECT_FALSE(hits(cache, 0, remote_access::put));
  EXPECT_TRUE(hits(cache, 0, remote_access::get));
  EXPECT_EQ(cache.count().misses, 0U) << "a put does not ask the cache";
  address_cache other(2);
  other.on_reply(target, reply_of(0, 1));
  EXPECT_TRUE(hits(other, 0, remote_access::put));
}

// What keeps something for each address learns when it is not needed: at once, or behind the last use.
TEST(address_cache, reports_what_it_drops_when_no_operation_uses_it) {
  std::vector<registration_key> dropped;
  address_cache cache(2, {.most_entries = 2, .dropped = [&](const address_key&, const remote_address& where) {
                            dropped.push_back(where.key);
                          }});
  EXPECT_TRUE(cache.on_reply(target, reply_of(0, 10)));
  EXPECT_FALSE(cache.on_reply(target, reply_of(0, 10))) << "it is here";
  EXPECT_TRUE(cache.on_reply(target, reply_of(1, 11)));
  EXPECT_TRUE(dropped.empty());
  EXPECT_TRUE(cache.on_reply(target, reply_of(2, 12)));
  EXPECT_EQ(dropped, (std::vector<registration_key>{10})) << "evicted";
  EXPECT_TRUE(cache.on_invalidation(target, invalidation_of(1, 1)));
  EXPECT_EQ(dropped, (std::vector<registration_key>{10, 11})) << "invalidated";
  EXPECT_FALSE(cache.on_reply(target, reply_of(3, 13, 0))) << "late";
  const auto use = cache.begin_use(key_of(2), remote_access::get);
  ASSERT_TRUE(use);
  EXPECT_EQ(cache.on_invalidation(target, invalidation_of(2, 2)), std::nullopt);
  EXPECT_EQ(dropped.size(), 2U) << "in use";
  EXPECT_TRUE(cache.end_use(use->entry));
  EXPECT_EQ(dropped, (std::vector<registration_key>{10, 11, 12}));
}

// ---- random calls beside a list that is searched from its beginning

struct model_entry {
  address_key key;
  remote_address where;
  int uses = 0;
};

class random_calls {
 public:
  void run(int calls) {
    for (int i = 0; i < calls; ++i) {
      switch (random_() % 8) {
        case 0:
        case 1:
        case 2:
        case 3:
          begin();
          break;
        case 4:
          end();
          break;
        case 5:
        case 6:
          reply();
          break;
        default:
          invalidate();
          break;
      }
      ASSERT_NO_FATAL_FAILURE(compare()) << "call " << i;
    }
    EXPECT_GT(late_, 0U);
    EXPECT_GT(acknowledged_late_, 0U);
    EXPECT_GT(cache_.count().evictions, 0U);
    EXPECT_GT(without_room_, 0U);
    EXPECT_GT(cache_.count().hits, 0U);
  }

 private:
  static constexpr std::size_t most = 6;

  address_key random_key() {
    return {.array = random_() % 2 << 40U,
            .host = static_cast<host_number>(random_() % 3),
            .chunk = static_cast<chunk_number>(random_() % 3)};
  }
  std::vector<model_entry>::iterator find(const address_key& key) {
    return std::find_if(by_age_.begin(), by_age_.end(), [&](const model_entry& one) { return one.key == key; });
  }
  void begin() {
    const address_key key = random_key();
    const auto use = cache_.begin_use(key, remote_access::get);
    const auto one = find(key);
    ASSERT_EQ(use.has_value(), one != by_age_.end());
    if (!use) return;
    ASSERT_EQ(use->where, one->where);
    ++one->uses;
    std::rotate(one, one + 1, by_age_.end());
    uses_.push_back({key, use->entry});
  }
  void end() {
    if (uses_.empty()) return;
    const auto which = uses_.begin() + static_cast<std::ptrdiff_t>(random_() % uses_.size());
    const auto [key, entry] = *which;
    uses_.erase(which);
    const auto answer = cache_.end_use(entry);
    if (const auto gone =
            std::find_if(leaving_.begin(), leaving_.end(), [&](const auto& one) { return one.first.key == key; });
        gone != leaving_.end()) {
      ASSERT_EQ(answer.has_value(), --gone->first.uses == 0);
      if (!answer) return;
      ASSERT_EQ(answer->what.epoch, gone->second);
      ASSERT_EQ(answer->to, key.host);
      leaving_.erase(gone);
      ++acknowledged_late_;
      return;
    }
    ASSERT_FALSE(answer);
    --find(key)->uses;
  }
  void reply() {
    const address_key key = random_key();
    // The target gives no address before it has the acknowledgement.
    if (std::any_of(leaving_.begin(), leaving_.end(), [&](const auto& one) { return one.first.key == key; })) return;
    const bool is_late = epochs_[key.host] > 0 && random_() % 4 == 0;
    const remote_address where{.address = 64 + key.chunk, .key = keys_[{key.host, key.array + key.chunk}]};
    cache_.on_reply(
        key.host,
        {.array = key.array, .chunk = key.chunk, .epoch = epochs_[key.host] - (is_late ? 1 : 0), .where = where});
    if (is_late) {
      ++late_;
      return;
    }
    if (const auto one = find(key); one != by_age_.end()) {
      std::rotate(one, one + 1, by_age_.end());
      return;
    }
    if (by_age_.size() + leaving_.size() == most) {
      const auto victim = std::find_if(by_age_.begin(), by_age_.end(), [](const auto& one) { return one.uses == 0; });
      if (victim == by_age_.end()) {
        ++without_room_;
        return;
      }
      by_age_.erase(victim);
    }
    by_age_.push_back({.key = key, .where = where});
  }
  void invalidate() {
    const address_key key = random_key();
    if (std::any_of(leaving_.begin(), leaving_.end(), [&](const auto& one) { return one.first.key == key; })) return;
    const invalidation_epoch epoch = ++epochs_[key.host];
    const auto answer = cache_.on_invalidation(key.host, {.array = key.array, .chunk = key.chunk, .epoch = epoch});
    const auto one = find(key);
    ASSERT_EQ(answer.has_value(), one == by_age_.end() || one->uses == 0);
    ++keys_[{key.host, key.array + key.chunk}];
    if (one == by_age_.end()) return;
    if (one->uses > 0) leaving_.push_back({*one, epoch});
    by_age_.erase(one);
  }
  void compare() {
    ASSERT_EQ(cache_.size(), by_age_.size());
    ASSERT_EQ(cache_.leaving(), leaving_.size());
    ASSERT_EQ(cache_.count().late_replies, late_);
    ASSERT_EQ(cache_.count().all_in_use, without_room_);
    auto next = by_age_.rbegin();
    cache_.for_each([&](const address_key& key, const remote_address& where, std::uint32_t uses) {
      ASSERT_EQ(key, next->key);
      ASSERT_EQ(where, next->where);
      ASSERT_EQ(uses, static_cast<std::uint32_t>(next->uses));
      ++next;
    });
    ASSERT_EQ(next, by_age_.rend());
  }

  std::mt19937_64 random_{11};
  address_cache cache_{3, {.most_entries = most}};
  std::vector<model_entry> by_age_;  // the oldest first
  std::vector<std::pair<model_entry, invalidation_epoch>> leaving_;
  std::vector<std::pair<address_key, cache_entry_number>> uses_;
  std::map<host_number, invalidation_epoch> epochs_;
  std::map<std::pair<host_number, std::uint64_t>, registration_key> keys_;
  std::uint64_t late_ = 0;
  std::uint64_t acknowledged_late_ = 0;
  std::uint64_t without_room_ = 0;
};

TEST(address_cache, does_what_a_simple_model_does) { random_calls().run(100'000); }

}  // namespace
}  // namespace tri::arrays
