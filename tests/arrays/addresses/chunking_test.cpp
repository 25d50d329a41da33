// Offsets and chunks, with both strategies.
#include "arrays/addresses/chunking.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tri::arrays {
namespace {

TEST(chunking, the_default_is_256_KiB) {
  const chunking how;
  EXPECT_EQ(how.chunk_of((256 << 10) - 1), 0U);
  EXPECT_EQ(how.chunk_of(256 << 10), 1U);
  EXPECT_EQ(how.offset_of(3), 768U << 10U);
}

TEST(chunking, chunks_cover_the_part_without_gaps) {
  const chunking how{.chunk_bytes = 64};
  for (const std::uint64_t part : {1U, 63U, 64U, 65U, 200U}) {
    std::uint64_t covered = 0;
    for (chunk_number chunk = 0; how.bytes_of(chunk, part) > 0; ++chunk) {
      EXPECT_EQ(how.offset_of(chunk), covered);
      EXPECT_EQ(how.chunk_of(covered), chunk);
      covered += how.bytes_of(chunk, part);
      EXPECT_EQ(how.chunk_of(covered - 1), chunk);
    }
    EXPECT_EQ(covered, part);
  }
}

TEST(chunking, an_operation_over_a_border_is_not_within_one_chunk) {
  const chunking how{.chunk_bytes = 64};
  EXPECT_TRUE(how.is_within_one_chunk(0, 64));
  EXPECT_FALSE(how.is_within_one_chunk(1, 64));
  EXPECT_TRUE(how.is_within_one_chunk(64, 64));
  EXPECT_TRUE(how.is_within_one_chunk(64, 0));
}

TEST(chunking, everything_is_one_chunk) {
  const chunking how{.strategy = registration_strategy::everything, .chunk_bytes = 64};
  EXPECT_EQ(how.chunk_of(100000), 0U);
  EXPECT_EQ(how.bytes_of(0, 100001), 100001U);
  EXPECT_EQ(how.bytes_of(1, 100001), 0U);
  EXPECT_TRUE(how.is_within_one_chunk(1, 100000));
}

TEST(chunking, a_size_that_is_no_power_of_two_is_refused) {
  try {
    chunking{.chunk_bytes = 100}.check();
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "chunks of 100 bytes: the size of a chunk is a power of two");
  }
}

}  // namespace
}  // namespace tri::arrays
