#include "checkpoint/manifest.hpp"

#include <gtest/gtest.h>

#include "checkpoint/checksum.hpp"

namespace tri::checkpoint_files {
namespace {

manifest some() {
  manifest made;
  made.program = 0x0123456789abcdef;
  made.token = ~std::uint64_t{0};
  made.states = "states-7";
  made.processes = 2;
  made.elements = 1000;
  made.job = {100, 1, 5};
  made.pes = {{1, 2, 3}, {~std::uint64_t{0}, 0, ~std::uint64_t{0}}};
  return made;
}

std::string fault_of(const std::string& text) {
  try {
    parse_manifest(text, "F/manifest");
  } catch (const checkpoint_error& error) {
    return error.what();
  }
  return "";
}

TEST(manifest, comes_back) { EXPECT_EQ(parse_manifest(text_of(some()), "F/manifest"), some()); }

TEST(manifest, every_change_is_found) {
  const std::string text = text_of(some());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == '1' ? '2' : '1';
    if (i + 1 == text.size()) continue;  // the last line's end is no part of a word
    EXPECT_TRUE(fault_of(changed).starts_with("F/manifest: ")) << i << ": " << changed;
  }
}

TEST(manifest, every_shorter_one_is_found) {
  const std::string text = text_of(some());
  for (std::size_t i = 0; i + 1 < text.size(); ++i) EXPECT_NE(fault_of(text.substr(0, i)), "") << i;
}

TEST(manifest, says_what_is_wrong) {
  EXPECT_EQ(fault_of("something else"), "F/manifest: is not the manifest of a checkpoint");
  EXPECT_EQ(fault_of("trireme-checkpoint 9\n"),
            "F/manifest: was written in format 9 by another version of Trireme; this one has 2");
  EXPECT_EQ(fault_of("trireme-checkpoint 2\nprogram 5\n"), "F/manifest: is damaged: its end is missing");
  std::string wrong = text_of(some());
  wrong[wrong.find("elements 1000") + 9] = '2';
  EXPECT_EQ(fault_of(wrong), "F/manifest: is damaged: its checksum is wrong");
}

}  // namespace
}  // namespace tri::checkpoint_files
