// Files for the user: whole or not at all, and never where a link of another user leads.
#include "os/output_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "support/another_user.hpp"
#include "support/command_runner.hpp"

namespace tri::os {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using tri::testing::another_user;
using tri::testing::contents_of;

class output_file_test : public ::testing::Test {
 protected:
  // As /tmp is.
  output_file_test() { fs::permissions(folder.path(), fs::perms(01777)); }
  std::string path(const char* name) const { return (folder.path() / name).string(); }
  auto files() const { return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()); }

  const tri::testing::temporary_folder folder;
};

TEST_F(output_file_test, takes_its_place_when_it_is_complete) {
  tri::testing::write_file(path("x"), "old");
  fs::permissions(path("x"), fs::perms(0640));
  {
    output_file file(path("x"));
    file.write("ne");
    file.write("w");
    EXPECT_EQ(contents_of(path("x")), "old");
    file.finish();
  }
  EXPECT_EQ(contents_of(path("x")), "new");
  EXPECT_EQ(fs::status(path("x")).permissions(), fs::perms(0640));
  EXPECT_EQ(files(), 1);
}

TEST_F(output_file_test, that_is_not_finished_has_not_happened) {
  tri::testing::write_file(path("x"), "old");
  output_file(path("x")).write("new");
  output_file(path("y")).write("new");
  EXPECT_EQ(contents_of(path("x")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(output_file_test, removes_what_a_killed_process_has_left) {
  tri::testing::write_file(path("x"), "old");
  const pid_t child = fork();
  if (child == 0) {
    output_file left(path("x"));
    left.write("a part");
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(contents_of(path("x")), "old");
  EXPECT_EQ(contents_of(path("x.trireme-unfinished")), "a part");
  output_file file(path("x"));
  EXPECT_EQ(file.written_path(), path("x.trireme-unfinished"));
  file.write("new");
  file.finish();
  EXPECT_EQ(contents_of(path("x")), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(output_file_test, leaves_one_alone_that_is_under_way) {
  output_file first(path("x"));
  output_file second(path("x"));
  EXPECT_NE(first.written_path(), second.written_path());
  first.write("first");
  second.write("second");
  first.finish();
  EXPECT_EQ(contents_of(path("x")), "first");
  second.finish();
  EXPECT_EQ(contents_of(path("x")), "second");
  EXPECT_EQ(files(), 1);
}

TEST_F(output_file_test, leaves_what_is_no_file_of_its_own) {
  tri::testing::write_file(path("precious"), "old");
  fs::create_symlink("precious", path("x.trireme-unfinished"));
  write_output_file(path("x"), "new");
  EXPECT_EQ(contents_of(path("precious")), "old");
  EXPECT_TRUE(fs::is_symlink(path("x.trireme-unfinished")));
  fs::create_directory(path("y.trireme-unfinished"));
  write_output_file(path("y"), "new");
  EXPECT_EQ(contents_of(path("y")), "new");
  EXPECT_TRUE(fs::is_directory(path("y.trireme-unfinished")));
  EXPECT_EQ(files(), 5);
  if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
  tri::testing::write_file(path("z.trireme-unfinished"), "theirs");
  ASSERT_EQ(chown(path("z.trireme-unfinished").c_str(), another_user, another_user), 0);
  write_output_file(path("z"), "new");
  EXPECT_EQ(contents_of(path("z")), "new");
  EXPECT_EQ(contents_of(path("z.trireme-unfinished")), "theirs");
}

TEST_F(output_file_test, has_the_permissions_of_any_new_file) {
  const mode_t before = umask(027);
  write_output_file(path("x"), "new");
  umask(before);
  EXPECT_EQ(fs::status(path("x")).permissions(), fs::perms(0640));
}

TEST_F(output_file_test, follows_links_of_the_user_and_writes_to_devices) {
  tri::testing::write_file(path("target"), "old");
  fs::create_symlink("target", path("link"));
  write_output_file(path("link"), "new");
  EXPECT_EQ(contents_of(path("target")), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  write_output_file("/dev/null", "new");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(output_file_test, says_what_is_wrong) {
  EXPECT_THAT([&] { write_output_file(path("no/x"), ""); },
              ThrowsMessage<std::runtime_error>(path("no/x") + ": cannot be written: No such file or directory"));
  EXPECT_THAT([&] { write_output_file(path(""), ""); }, ThrowsMessage<std::runtime_error>(HasSubstr("Is a directory")));
}

TEST_F(output_file_test, does_not_follow_a_link_of_another_user) {
  if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
  tri::testing::write_file(path("precious"), "old");
  fs::create_symlink("precious", path("link"));
  ASSERT_EQ(lchown(path("link").c_str(), another_user, another_user), 0);
  EXPECT_THAT([&] { write_output_file(path("link"), "new"); },
              ThrowsMessage<std::runtime_error>(path("link") +
                                                ": cannot be written: it is a symbolic link of user 65534, in a folder "
                                                "where others may write; remove it, or name another path"));
  EXPECT_EQ(contents_of(path("precious")), "old");
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0666), 0);
  ASSERT_EQ(chown(path("fifo").c_str(), another_user, another_user), 0);
  EXPECT_THAT([&] { write_output_file(path("fifo"), "new"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("it is not a regular file, and of user 65534")));
}

// The other user's file goes; who has it open reads what was there before.
TEST_F(output_file_test, replaces_a_file_of_another_user) {
  if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
  tri::testing::write_file(path("theirs"), "old");
  ASSERT_EQ(chown(path("theirs").c_str(), another_user, another_user), 0);
  std::ifstream open_there(path("theirs"));
  write_output_file(path("theirs"), "new");
  std::string seen;
  open_there >> seen;
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(contents_of(path("theirs")), "new");
  struct stat facts {};
  ASSERT_EQ(stat(path("theirs").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, geteuid());
}

}  // namespace
}  // namespace tri::os
