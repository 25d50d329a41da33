#include "checkpoint/kept_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "support/command_runner.hpp"

namespace tri::checkpoint_files {
namespace {

class kept_memory_test : public ::testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "memory").string(); }
  std::string contents() const { return tri::testing::contents_of(path()); }
  tri::testing::temporary_folder folder_;
};

std::string text_of(std::size_t size, char letter) { return std::string(size, letter); }

TEST_F(kept_memory_test, is_written_again_and_again) {
  kept_memory memory(path());
  for (const std::size_t size : {std::size_t{10}, std::size_t{5'000'000}, std::size_t{3}, std::size_t{2'000'000}}) {
    const std::string text = text_of(size, static_cast<char>('a' + size % 7));
    memory.clear();
    memory.append(text.data(), 1);
    memory.append(text.data() + 1, size - 1);
    memory.finish();
    EXPECT_EQ(memory.size(), size);
    EXPECT_EQ(contents(), text);
    EXPECT_EQ(std::string(memory.data(), memory.size()), text);
  }
}

// Its pages stay where they are: that is what it is for.
TEST_F(kept_memory_test, the_same_length_again_needs_no_other_memory) {
  kept_memory memory(path());
  const std::string text = text_of(3'000'000, 'x');
  memory.append(text.data(), text.size());
  memory.finish();
  const char* const before = memory.data();
  struct stat first {};
  ASSERT_EQ(stat(path().c_str(), &first), 0);
  for (int i = 0; i < 3; ++i) {
    memory.clear();
    memory.append(text.data(), text.size());
    memory.finish();
    EXPECT_EQ(memory.data(), before);
  }
  struct stat last {};
  ASSERT_EQ(stat(path().c_str(), &last), 0);
  EXPECT_EQ(first.st_ino, last.st_ino);
  EXPECT_EQ(first.st_blocks, last.st_blocks);
}

TEST_F(kept_memory_test, parts_come_in_any_order) {
  kept_memory memory(path());
  memory.put(4, "late", 4);
  memory.put(0, "and ", 4);
  memory.finish();
  EXPECT_EQ(contents(), "and late");
}

TEST_F(kept_memory_test, records_are_written_in_place) {
  kept_memory memory(path());
  memory.append("head", 4);
  char* const room = memory.room(8, 3'000'000);
  ASSERT_GE(memory.capacity(), 3'000'008u);
  room[0] = 'x';
  memory.append("----", 4);
  memory.extend_to(9);
  memory.finish();
  EXPECT_EQ(contents(), "head----x");
}

TEST_F(kept_memory_test, what_a_dead_process_has_left_is_written_over) {
  {
    kept_memory memory(path());
    memory.append("of an earlier process", 21);
    memory.finish();
  }
  kept_memory memory(path());
  EXPECT_EQ(memory.size(), 0u);
  memory.append("new", 3);
  memory.finish();
  EXPECT_EQ(contents(), "new");
}

// Memory that is not there must not end the process when it is touched.
TEST_F(kept_memory_test, full_memory_is_an_error) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{100'000, before.rlim_max};
  kept_memory memory(path());
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string text = text_of(200'000, 'x');
  std::string why;
  try {
    memory.append(text.data(), text.size());
  } catch (const checkpoint_error& error) {
    why = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(why, path() + ": cannot be written: File too large");
  memory.append("still of use", 12);
  memory.finish();
  EXPECT_EQ(contents(), "still of use");
}

TEST_F(kept_memory_test, other_things_than_files_are_refused) {
  std::filesystem::create_directory(path());
  EXPECT_THROW(kept_memory{path()}, checkpoint_error);
  std::filesystem::remove(path());
  std::filesystem::create_symlink("/etc/hostname", path());
  EXPECT_THROW(kept_memory{path()}, checkpoint_error);
  EXPECT_THROW(kept_memory{(folder_.path() / "none" / "memory").string()}, checkpoint_error);
}

}  // namespace
}  // namespace tri::checkpoint_files
