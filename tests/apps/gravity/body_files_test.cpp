// Files of bodies: both forms round trip to the bit, and faulty files are explained.
#include "gravity/bodies/body_files.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "gravity/bodies/generate.hpp"
#include "support/command_runner.hpp"

namespace {

using namespace gravity;
using testing::HasSubstr;

class body_files : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  std::string error_of(const std::string& name, const std::string& contents) const {
    tri::testing::write_file(path(name), contents);
    return error_of(name);
  }
  std::string error_of(const std::string& name) const {
    try {
      static_cast<void>(read_bodies(path(name)));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no error";
  }

  tri::testing::temporary_folder folder_;
};

TEST_F(body_files, give_the_same_bits_again) {
  std::vector<body> bodies = collision(100, 3, {});
  bodies[5].mass = 0.0;
  bodies[6].position = {1e-308, -1e300, 0.1};
  for (const char* const name : {"bodies.txt", "bodies.bin"}) {
    write_bodies(path(name), bodies);
    const std::vector<body> found = read_bodies(path(name));
    ASSERT_EQ(found.size(), bodies.size()) << name;
    EXPECT_EQ(std::memcmp(found.data(), bodies.data(), bodies.size() * sizeof(body)), 0) << name;
  }
  EXPECT_EQ(std::filesystem::file_size(path("bodies.bin")), 24U + 100U * 56U);
}

TEST_F(body_files, may_have_comments_and_any_blanks) {
  tri::testing::write_file(path("a.txt"), "# two bodies\n\n 1 2 3\t4 5 6 7 # the first\r\n-1e3 0 0 0 0 0 0");
  const std::vector<body> found = read_bodies(path("a.txt"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].position, (vec3{1, 2, 3}));
  EXPECT_EQ(found[0].velocity, (vec3{4, 5, 6}));
  EXPECT_EQ(found[0].mass, 7.0);
  EXPECT_EQ(found[1].position[0], -1000.0);
  EXPECT_EQ(found[1].id, 1);
}

TEST_F(body_files, with_faults_are_explained) {
  EXPECT_THAT(error_of("missing.txt"), HasSubstr("missing.txt: cannot be opened: No such file or directory"));
  EXPECT_THAT(error_of(""), HasSubstr("is a folder"));
  EXPECT_THAT(error_of("a", ""), HasSubstr("has no bodies; at least 1 is needed"));
  EXPECT_THAT(error_of("a", "# nothing\n"), HasSubstr("has no bodies"));
  EXPECT_THAT(error_of("a", "1 2 3 4 5 6 7\n1 2 3\n"), HasSubstr("a: line 2: has 3 numbers; a body has 7: x y z"));
  EXPECT_THAT(error_of("a", "1 2 3 4 5 6 7 8\n"), HasSubstr("line 1: has 8 numbers"));
  EXPECT_THAT(error_of("a", "1 2 3 4 five 6 7\n"), HasSubstr("line 1: 'five' is not a number that a double can hold"));
  EXPECT_THAT(error_of("a", "1 2 3 4 5 6 1e999\n"), HasSubstr("'1e999' is not a number that a double can hold"));
  EXPECT_THAT(error_of("a", "1 2 nan 4 5 6 7\n"), HasSubstr("line 1: z is nan; it must be finite"));
  EXPECT_THAT(error_of("a", "1 2 3 4 5 6 -1\n"), HasSubstr("line 1: the mass is -1; it must be at least 0"));
}

TEST_F(body_files, in_binary_with_faults_are_explained) {
  write_bodies(path("good"), plummer_sphere(10, 1));
  const std::string good = tri::testing::contents_of(path("good"));
  EXPECT_THAT(error_of("a", good.substr(0, 12)),
              HasSubstr("is 12 bytes long; a binary file of bodies has at least 24"));
  EXPECT_THAT(error_of("a", good.substr(0, good.size() - 56)),
              HasSubstr("says that it has 10 bodies, but its length is right for 9; it may be cut off"));
  EXPECT_THAT(error_of("a", good.substr(0, good.size() - 1)), HasSubstr("is right for 9 and a part"));
  EXPECT_THAT(error_of("a", good + "x"), HasSubstr("is right for 10 and a part"));
  std::string bad = good;
  std::swap(bad[8], bad[11]);
  EXPECT_THAT(error_of("a", bad), HasSubstr("another order of bytes"));
  bad = good;
  std::memset(bad.data() + 24 + 56 * 3, 0xff, 8);  // a NaN
  EXPECT_THAT(error_of("a", bad), HasSubstr("body 3: x is"));
}

TEST_F(body_files, that_cannot_be_written_leave_nothing) {
  EXPECT_THROW(write_bodies(path("no/folder"), plummer_sphere(2, 1)), std::runtime_error);
  std::filesystem::create_directory(path("folder"));
  tri::testing::write_file(path("folder/file"), "x");
  EXPECT_THROW(write_bodies(path("folder"), plummer_sphere(2, 1)), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(path("folder.part")));
  EXPECT_THROW(check_writable(path("no/folder")), std::runtime_error);
  EXPECT_THROW(check_writable(path("folder")), std::runtime_error);
  EXPECT_NO_THROW(check_writable(path("new")));
  EXPECT_TRUE(std::filesystem::exists(path("folder/file")));
  EXPECT_FALSE(std::filesystem::exists(path("new")) || std::filesystem::exists(path("new.part")));
}

}  // namespace
