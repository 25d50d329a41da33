#include "checkpoint/survival_files.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "checkpoint/manifest.hpp"

namespace tri::checkpoint_files {
namespace {

class survival_files : public testing::Test {
 protected:
  survival_files() {
    char name[] = "/tmp/trireme_survival_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~survival_files() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(survival_files, the_last_checkpoint_counts) {
  EXPECT_FALSE(find_checkpoint(folder_));
  note_checkpoint(folder_, {1, "/a"});
  note_checkpoint(folder_, {~std::uint64_t{0}, "/a folder/with blanks"});
  const auto found = find_checkpoint(folder_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->token, ~std::uint64_t{0});
  EXPECT_EQ(found->folder, "/a folder/with blanks");
}

TEST_F(survival_files, the_last_request_counts_until_it_is_forgotten) {
  EXPECT_FALSE(requested_processes(folder_));
  request_processes(folder_, 3);
  request_processes(folder_, 5);
  EXPECT_EQ(requested_processes(folder_), 5);
  forget_request(folder_);
  EXPECT_FALSE(requested_processes(folder_));
}

TEST_F(survival_files, nonsense_is_nothing) {
  for (const char* const text : {"", "\n", "x\n", "0123456789abcdef", "0123456789abcdeg /a\n"}) {
    std::ofstream(folder_ + "/last", std::ios::trunc) << text;
    EXPECT_FALSE(find_checkpoint(folder_)) << text;
    std::ofstream(folder_ + "/processes", std::ios::trunc) << text << "x";
    EXPECT_FALSE(requested_processes(folder_)) << text;
  }
  EXPECT_THROW(note_checkpoint(folder_ + "/none", {1, "/a"}), checkpoint_error);
}

}  // namespace
}  // namespace tri::checkpoint_files
