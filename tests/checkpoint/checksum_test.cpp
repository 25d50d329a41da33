#include "checkpoint/checksum.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tri::checkpoint_files {
namespace {

TEST(checksum, every_bit_of_every_length_counts) {
  for (std::size_t length = 0; length < 80; ++length) {
    std::string text(length, 'x');
    std::set<std::uint64_t> seen{checksum(text.data(), text.size())};
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
      EXPECT_TRUE(seen.insert(checksum(text.data(), text.size())).second) << "length " << length << ", bit " << bit;
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    }
  }
}

TEST(checksum, lengths_of_zeros_differ) {
  const std::string zeros(100, '\0');
  std::set<std::uint64_t> seen;
  for (std::size_t length = 0; length <= zeros.size(); ++length)
    EXPECT_TRUE(seen.insert(checksum(zeros.data(), length)).second) << length;
}

TEST(checksum, what_was_before_counts) {
  const std::string text = "of one block";
  EXPECT_NE(checksum(text.data(), text.size(), 1), checksum(text.data(), text.size(), 2));
}

// Values lie in files.
TEST(checksum, stays_what_it_is) {
  std::string text;
  for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i));
  EXPECT_EQ(checksum(text.data(), text.size(), 7), 0x72826864ed9ffd2fULL);
}

}  // namespace
}  // namespace tri::checkpoint_files
