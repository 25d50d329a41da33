// A message that came before its place was known is put there by exchanging pages: bytes, what is around them, and how
// many were copied; and by copying where pages cannot be exchanged.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "wire/page_exchange.hpp"

namespace tri::bench {
namespace {

const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

// Everything in the region but the message stays what it was.
class Destination {
 public:
  explicit Destination(std::size_t bytes) : region_(bytes), expected_(random_bytes(region_.bytes(), 7)) {
    std::memcpy(region_.data(), expected_.data(), expected_.size());
  }
  const page_region& region() const { return region_; }
  std::byte* at(std::size_t offset) const { return region_.data() + offset; }
  void expect(std::size_t offset, const std::vector<std::byte>& message) {
    if (!message.empty()) std::memcpy(expected_.data() + offset, message.data(), message.size());
    EXPECT_EQ(std::memcmp(region_.data(), expected_.data(), expected_.size()), 0);
  }

 private:
  page_region region_;
  std::vector<std::byte> expected_;
};

received_bytes receive(landing_area& area, const std::vector<std::byte>& message, const std::byte* predicted,
                       std::byte* place, const page_region* region) {
  std::byte* const came = area.for_message_to(predicted);
  if (!message.empty()) std::memcpy(came, message.data(), message.size());
  return area.deliver(came, message.size(), place, region);
}

TEST(page_exchange, copies_less_than_two_pages_of_a_message) {
  landing_area area(4 << 20);
  Destination to((4 << 20) + 4 * page);
  std::uint64_t seed = 1;
  for (std::size_t bytes = 2 * page; bytes <= 4 << 20; bytes *= 2) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, page - 1, page + 1000}) {
      for (const std::size_t more : {std::size_t{0}, std::size_t{1}, page - 1}) {
        if (bytes + more > 4 << 20) continue;
        SCOPED_TRACE(std::to_string(bytes + more) + " bytes at " + std::to_string(offset));
        const auto message = random_bytes(bytes + more, ++seed);
        const received_bytes done = receive(area, message, to.at(offset), to.at(offset), &to.region());
        EXPECT_EQ(done.exchanged + done.copied, message.size());
        EXPECT_LT(done.copied, 2 * page);
        to.expect(offset, message);
      }
    }
  }
}

TEST(page_exchange, copies_after_a_wrong_prediction) {
  landing_area area(1 << 20);
  Destination to(2 << 20);
  const auto message = random_bytes(1 << 20, 2);
  EXPECT_EQ(receive(area, message, to.at(8), to.at(16), &to.region()).copied, message.size()) << "not as far in a page";
  to.expect(16, message);
  const auto another = random_bytes(1 << 20, 3);
  EXPECT_EQ(receive(area, another, to.at(page), to.at(2 * page), &to.region()).exchanged, another.size())
      << "another page, but as far in it";
  to.expect(2 * page, another);
}

TEST(page_exchange, copies_to_other_memory) {
  landing_area area(1 << 20);
  Destination to(1 << 20);
  const auto message = random_bytes(1 << 19, 4);
  std::vector<std::byte> heap(message.size() + page);
  std::byte* const place = heap.data() + 3;
  for (const page_region* region : {static_cast<const page_region*>(nullptr), &to.region()}) {
    EXPECT_EQ(receive(area, message, place, place, region).copied, message.size());
    EXPECT_EQ(std::memcmp(place, message.data(), message.size()), 0);
    std::memset(place, 0, message.size());
  }
}

TEST(page_exchange, copies_a_message_without_a_whole_page) {
  landing_area area(2 * page);
  Destination to(4 * page);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, page, 2 * page - 2}) {
    const auto message = random_bytes(bytes, bytes);
    EXPECT_EQ(receive(area, message, to.at(1), to.at(1), &to.region()).copied, bytes);
    to.expect(1, message);
  }
}

// The system moves the pages of one mapping. A range that consists of several is copied, or moved by a system that can.
TEST(page_exchange, is_right_where_the_system_refuses) {
  landing_area area(64 * page);
  Destination to(128 * page);
  const auto message = random_bytes(64 * page, 5);
  ASSERT_EQ(madvise(to.at(20 * page), page, MADV_DONTDUMP), 0);
  const received_bytes place_in_pieces = receive(area, message, to.at(0), to.at(0), &to.region());
  EXPECT_EQ(place_in_pieces.exchanged + place_in_pieces.copied, message.size());
  to.expect(0, message);

  const auto another = random_bytes(64 * page, 6);
  ASSERT_EQ(madvise(area.for_message_to(to.at(64 * page)) + 30 * page, page, MADV_DONTDUMP), 0);
  const received_bytes message_in_pieces = receive(area, another, to.at(64 * page), to.at(64 * page), &to.region());
  EXPECT_EQ(message_in_pieces.exchanged + message_in_pieces.copied, another.size());
  to.expect(64 * page, another);
}

TEST(page_exchange, leaves_no_more_mappings_behind) {
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) ++count;
    return count;
  };
  landing_area area(1 << 20);
  Destination to(2 << 20);
  const auto message = random_bytes(1 << 20, 8);
  for (int i = 0; i < 10; ++i) receive(area, message, to.at(100), to.at(100), &to.region());
  const std::size_t before = mappings();
  for (int i = 0; i < 1000; ++i) ASSERT_GT(receive(area, message, to.at(100), to.at(100), &to.region()).exchanged, 0U);
  EXPECT_LE(mappings(), before + 4) << "1000 messages";
  to.expect(100, message);
}

// Another thread uses the pages in front of and behind the place all the time.
TEST(page_exchange, leaves_other_threads_alone) {
  landing_area area(64 * page);
  page_region region(66 * page);
  std::atomic<bool> over{false};
  std::uint64_t faults = 0;
  std::thread neighbour([&] {
    for (std::uint64_t round = 1; !over.load(std::memory_order_relaxed); ++round) {  // relaxed: only an end
      for (std::byte* const place : {region.data(), region.data() + 65 * page}) {
        std::uint64_t before = 0;
        std::memcpy(&before, place, sizeof before);
        if (before != round - 1) ++faults;
        std::memcpy(place, &round, sizeof round);
      }
    }
  });
  const auto message = random_bytes(64 * page, 9);
  for (int i = 0; i < 2000; ++i) {
    const received_bytes done = receive(area, message, region.data(), region.data() + page, &region);
    ASSERT_EQ(done.exchanged, message.size());
  }
  over = true;
  neighbour.join();
  EXPECT_EQ(faults, 0U);
  EXPECT_EQ(std::memcmp(region.data() + page, message.data(), message.size()), 0);
}

TEST(page_exchange, refuses_what_did_not_come_there) {
  landing_area area(page);
  std::vector<std::byte> heap(2 * page);
  const auto message_of = [&](std::byte* came, std::size_t bytes) -> std::string {
    try {
      area.deliver(came, bytes, heap.data(), nullptr);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message_of(area.for_message_to(heap.data()), 2 * page),
            "a message of " + std::to_string(2 * page) + " bytes did not come into its landing area of " +
                std::to_string(page) + " bytes");
  EXPECT_THAT(message_of(heap.data(), 8), testing::HasSubstr("a message of 8 bytes did not come"));
}

}  // namespace
}  // namespace tri::bench
