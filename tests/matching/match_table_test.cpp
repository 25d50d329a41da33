// The matching against a model that looks through plain lists from the front, under random use.
#include "matching/match_table.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace tri::matching {
namespace {

// What MPI says, word for word: everything in order, the first that fits.
struct model {
  std::list<posted_receive*> receives;
  std::list<arrived_message*> messages;

  posted_receive* match(const message_key& message) {
    const auto found =
        std::find_if(receives.begin(), receives.end(), [&](posted_receive* r) { return r->key.takes(message); });
    if (found == receives.end()) return nullptr;
    posted_receive* const receive = *found;
    receives.erase(found);
    return receive;
  }
  arrived_message* find(const message_key& wanted) {
    const auto found =
        std::find_if(messages.begin(), messages.end(), [&](arrived_message* m) { return wanted.takes(m->key); });
    return found == messages.end() ? nullptr : *found;
  }
};

class random_keys {
 public:
  explicit random_keys(unsigned seed) : random_(seed) {}
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  message_key message() {
    return {
        .context = below(3), .source = static_cast<std::int32_t>(below(4)), .tag = static_cast<std::int32_t>(below(3))};
  }
  message_key receive() {
    message_key key = message();
    if (below(4) == 0) key.source = any_source;
    if (below(4) == 0) key.tag = any_tag;
    return key;
  }

 private:
  std::mt19937 random_;
};

// Messages that share a bin with a flood are searched for behind it.
TEST(match_table, neighbouring_ranks_have_bins_of_their_own) {
  for (std::uint64_t context = 0; context < 1000; ++context) {
    std::set<std::size_t> of_eight;
    std::set<std::size_t> of_all;
    for (std::int32_t source = 0; source < 64; ++source) {
      const std::size_t bin = by_source::bin_of({context << 1, source, 0});
      ASSERT_LT(bin, by_source::bins);
      if (source < 8) of_eight.insert(bin);
      of_all.insert(bin);
    }
    EXPECT_EQ(of_eight.size(), 8u) << context;
    EXPECT_GE(of_all.size(), 48u) << context;
  }
}

TEST(match_table, neighbouring_tags_have_bins_of_their_own) {
  for (std::int32_t source = 0; source < 100; ++source) {
    std::set<std::size_t> of_all;
    for (std::int32_t tag = 0; tag < 256; ++tag) {
      const std::size_t bin = by_source_and_tag::bin_of({0, source, tag});
      ASSERT_LT(bin, by_source_and_tag::bins);
      of_all.insert(bin);
    }
    EXPECT_GE(of_all.size(), 96u) << source;
  }
}

template <class Binning>
class match_table_with : public ::testing::Test {};
using binnings = ::testing::Types<by_source, by_source_and_tag>;
TYPED_TEST_SUITE(match_table_with, binnings);

TYPED_TEST(match_table_with, agrees_with_lists_in_order) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    random_keys random(seed);
    match_table<TypeParam> tested;
    model expected;
    std::vector<std::unique_ptr<posted_receive>> receives;
    std::vector<std::unique_ptr<arrived_message>> messages;
    for (int step = 0; step < 1000; ++step) {
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2: {  // a message comes
          messages.push_back(std::make_unique<arrived_message>());
          arrived_message& message = *messages.back();
          message.key = random.message();
          posted_receive* const found = tested.find_receive(message.key);
          posted_receive* const got = tested.match(message.key);
          ASSERT_EQ(found, got);
          ASSERT_EQ(got, expected.match(message.key));
          if (got != nullptr) {
            ASSERT_FALSE(got->link.is_linked());
          } else {
            tested.add_unexpected(message);
            expected.messages.push_back(&message);
          }
          break;
        }
        case 3:
        case 4:
        case 5: {  // a receive is made
          receives.push_back(std::make_unique<posted_receive>());
          posted_receive& receive = *receives.back();
          receive.key = random.receive();
          arrived_message* const got = tested.match(receive);
          ASSERT_EQ(got, expected.find(receive.key));
          if (got != nullptr) {
            expected.messages.remove(got);
          } else {
            tested.post(receive);
            expected.receives.push_back(&receive);
          }
          break;
        }
        case 6: {  // one is cancelled
          if (receives.empty()) break;
          posted_receive& receive = *receives[random.below(static_cast<unsigned>(receives.size()))];
          const auto there = std::find(expected.receives.begin(), expected.receives.end(), &receive);
          ASSERT_EQ(tested.withdraw(receive), there != expected.receives.end());
          if (there != expected.receives.end()) expected.receives.erase(there);
          break;
        }
        default: {  // probe, and perhaps take
          const message_key key = random.receive();
          arrived_message* const found = tested.find(key);
          ASSERT_EQ(found, expected.find(key));
          if (found != nullptr && random.below(2) == 0) {
            tested.take(*found);
            expected.messages.remove(found);
          }
        }
      }
      ASSERT_EQ(tested.posted(), expected.receives.size());
      ASSERT_EQ(tested.arrived(), expected.messages.size());
    }
  }
}

}  // namespace
}  // namespace tri::matching
