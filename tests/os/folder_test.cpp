// The names in a folder, folders of this user, and removal of trees.
#include "os/folder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/another_user.hpp"
#include "support/command_runner.hpp"

namespace tri::os {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using tri::testing::contents_of;
using tri::testing::temporary_folder;
using tri::testing::write_file;

class folder_test : public ::testing::Test {
 protected:
  folder_test() {
    fs::create_directories(path("tree/below/empty"));
    write_file(path("tree/below/file"), "text");
    fs::create_symlink(path("elsewhere"), path("tree/link"));
    fs::create_directory(path("elsewhere"));
    write_file(path("elsewhere/kept"), "kept");
  }
  std::string path(const char* name) const { return (folder.path() / name).string(); }

  const temporary_folder folder;
};

TEST_F(folder_test, names_are_those_of_all_entries_but_the_dots) {
  write_file(path("tree/.hidden"), "");
  EXPECT_THAT(names_in(path("tree")), UnorderedElementsAre("below", "link", ".hidden"));
  EXPECT_THAT(names_in(path("tree/below/empty")), IsEmpty());
  EXPECT_THAT(names_in(path("tree/link")), UnorderedElementsAre("kept"));
}

TEST_F(folder_test, what_cannot_be_read_has_no_names) {
  EXPECT_THAT(names_in(path("nothing")), IsEmpty());
  EXPECT_THAT(names_in(path("tree/below/file")), IsEmpty());
}

TEST_F(folder_test, an_own_folder_is_opened_and_not_inherited) {
  const unique_fd opened = open_own_folder(path("tree"));
  ASSERT_TRUE(opened);
  struct stat by_descriptor {};
  struct stat by_path {};
  ASSERT_EQ(fstat(opened.get(), &by_descriptor), 0);
  ASSERT_EQ(stat(path("tree").c_str(), &by_path), 0);
  EXPECT_EQ(by_descriptor.st_ino, by_path.st_ino);
  EXPECT_EQ(fcntl(opened.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(folder_test, links_and_files_are_no_own_folders) {
  EXPECT_FALSE(open_own_folder(path("tree/link")));
  EXPECT_FALSE(open_own_folder(path("tree/below/file")));
  EXPECT_FALSE(open_own_folder(path("nothing")));
}

TEST_F(folder_test, those_of_other_users_are_no_own_folders) {
  if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
  ASSERT_EQ(chown(path("elsewhere").c_str(), tri::testing::another_user, tri::testing::another_user), 0);
  EXPECT_FALSE(open_own_folder(path("elsewhere")));
}

TEST_F(folder_test, a_folder_is_made_or_cleared_of_what_is_old) {
  const auto is_old = [](const fs::path& file) { return file.extension() == ".old"; };
  clear_folder(path("new/one"), is_old);
  EXPECT_TRUE(fs::is_directory(path("new/one")));
  write_file(path("new/one/a.old"), "");
  write_file(path("new/one/b"), "kept");
  clear_folder(path("new/one"), is_old);
  EXPECT_THAT(names_in(path("new/one")), UnorderedElementsAre("b"));
  EXPECT_THROW(clear_folder(path("new/one/b"), is_old), fs::filesystem_error);
}

TEST_F(folder_test, a_tree_is_removed_without_what_links_in_it_lead_to) {
  remove_tree(path("tree"));
  EXPECT_FALSE(fs::exists(path("tree")));
  EXPECT_EQ(contents_of(path("elsewhere/kept")), "kept");
  fs::create_symlink(path("elsewhere"), path("link"));
  remove_tree(path("link"));
  EXPECT_FALSE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents_of(path("elsewhere/kept")), "kept");
  remove_tree(path("elsewhere/kept"));
  EXPECT_THAT(names_in(path("elsewhere")), IsEmpty());
  remove_tree(path("nothing"));  // no error
}

}  // namespace
}  // namespace tri::os
