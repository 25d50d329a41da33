// Every request from 0 bytes to the largest small block: its class fits, is the smallest that fits, and wastes little.
#include "arena/size_class.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace tri::arena {
namespace {

TEST(size_class, fits_every_request_and_no_smaller_class_would) {
  for (std::size_t bytes = 0; bytes <= largest_small_block; ++bytes) {
    const unsigned found = size_class_of(bytes);
    ASSERT_LT(found, size_class_count) << bytes;
    ASSERT_GE(size_of_class(found), bytes);
    if (found > 0) {
      ASSERT_LT(size_of_class(found - 1), bytes) << "class " << found << " is too large for " << bytes;
    }
  }
}

TEST(size_class, wastes_at_most_a_quarter_of_larger_blocks) {
  for (std::size_t bytes = 257; bytes <= largest_small_block; ++bytes) {
    const std::size_t size = size_of_class(size_class_of(bytes));
    ASSERT_LE((size - bytes) * 4, size) << bytes;
  }
  for (std::size_t bytes = 1; bytes <= 256; ++bytes)
    ASSERT_LT(size_of_class(size_class_of(bytes)) - bytes, 64U) << bytes;
}

TEST(size_class, blocks_never_share_a_cache_line_from_64_bytes_on) {
  for (unsigned which = 0; which < size_class_count; ++which) {
    ASSERT_EQ(size_of_class(which) % 16, 0U);
    if (size_of_class(which) >= cache_line_bytes) {
      ASSERT_EQ(size_of_class(which) % cache_line_bytes, 0U) << which;
    }
    ASSERT_GE(spans_of_class(which) * span_bytes / size_of_class(which), 8U) << "blocks per carved run";
  }
}

TEST(size_class, counts_spans_without_overflow) {
  EXPECT_EQ(spans_for(1), 1U);
  EXPECT_EQ(spans_for(span_bytes), 1U);
  EXPECT_EQ(spans_for(span_bytes + 1), 2U);
  EXPECT_EQ(spans_for(std::numeric_limits<std::size_t>::max()), std::size_t{1} << 48);
}

}  // namespace
}  // namespace tri::arena
