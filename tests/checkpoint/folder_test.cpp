// The folder of a checkpoint: the old one is there until the new one is, whatever ends the writer.
#include "checkpoint/folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "checkpoint/state_file.hpp"

namespace tri::checkpoint_files {
namespace {

class folder : public testing::Test {
 protected:
  folder() {
    char name[] = "/tmp/trireme_folder_XXXXXX";
    place_ = mkdtemp(name);
  }
  ~folder() override { std::filesystem::remove_all(place_); }
  std::string path() const { return place_ + "/ckpt"; }

  // Writes a checkpoint whose only PE has `value` records.
  static void write(const std::string& path, std::uint64_t value) {
    unfinished_checkpoint made(path);
    manifest contents;
    contents.elements = value;
    state_writer pe(path_of_pe(made.states(), 0), {made.token(), 0});
    for (std::uint64_t i = 0; i < value; ++i) pe.write({1, 1, 1, i}, &value, sizeof value);
    contents.pes.push_back(pe.finish());
    state_writer job(path_of_job(made.states()), {made.token(), file_identity::job_part});
    contents.job = job.finish();
    made.finish(contents);
  }
  // The value of the checkpoint that is there; all of it must be.
  static std::uint64_t read(const std::string& path) {
    const manifest contents = read_manifest(path);
    state_reader pe(path_of_pe(path + "/" + contents.states, 0), {contents.token, 0}, contents.pes.at(0));
    std::uint64_t records = 0;
    while (pe.next()) ++records;
    EXPECT_EQ(records, contents.elements);
    return contents.elements;
  }
  std::string fault_of_reading() const {
    try {
      read(path());
    } catch (const checkpoint_error& error) {
      return error.what();
    }
    return "";
  }
  std::size_t folders_of_states() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path())) count += entry.is_directory() ? 1 : 0;
    return count;
  }
  std::string place_;
};

TEST_F(folder, the_last_one_counts_and_is_alone) {
  for (const std::uint64_t value : {3, 1, 0, 7}) {
    write(path(), value);
    EXPECT_EQ(read(path()), value);
    EXPECT_EQ(folders_of_states(), 1u);
  }
}

TEST_F(folder, without_finish_nothing_has_happened) {
  write(path(), 5);
  {
    unfinished_checkpoint given_up(path());
    state_writer(path_of_pe(given_up.states(), 0), {given_up.token(), 0}).finish();
    EXPECT_EQ(folders_of_states(), 2u);
  }
  EXPECT_EQ(folders_of_states(), 1u);
  EXPECT_EQ(read(path()), 5u);
}

// The writer is killed after each of the times that it takes; then another one writes.
TEST_F(folder, a_killed_writer_leaves_the_old_or_the_new_one) {
  std::uint64_t value = 1000;
  write(path(), value);
  for (int delay_us = 0; delay_us < 6000; delay_us += 60) {
    const std::uint64_t next = value + 1;
    const pid_t child = fork();
    if (child == 0) {
      write(path(), next);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(delay_us));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const std::uint64_t found = read(path());
    ASSERT_TRUE(found == value || found == next) << found;
    value = found;
  }
  write(path(), 1);
  EXPECT_EQ(read(path()), 1u);
  EXPECT_EQ(folders_of_states(), 1u) << "what the killed ones left";
}

TEST_F(folder, two_writers_do_not_meet) {
  const unfinished_checkpoint first(path());
  try {
    const unfinished_checkpoint second(path());
    FAIL() << "both write";
  } catch (const checkpoint_error& error) {
    EXPECT_EQ(std::string(error.what()), path() + ": another job is writing a checkpoint into it");
  }
}

TEST_F(folder, files_of_the_user_stay) {
  write(path(), 1);
  std::filesystem::create_directories(path() + "/states-of-mind");
  std::filesystem::create_directories(path() + "/states-2");  // of the next one, with a file of the user's
  std::ofstream(path() + "/states-2/notes") << "x";
  write(path(), 2);
  EXPECT_EQ(read(path()), 2u);
  EXPECT_TRUE(std::filesystem::exists(path() + "/states-2/notes"));
  EXPECT_TRUE(std::filesystem::exists(path() + "/states-of-mind"));
}

// It may be good for a newer version; so it goes only when there is a new one.
TEST_F(folder, one_that_cannot_be_read_stays_until_the_next_is_complete) {
  write(path(), 1);
  std::ofstream(path() + "/manifest") << "trireme-checkpoint 99\n";
  {
    const unfinished_checkpoint given_up(path());
    EXPECT_EQ(folders_of_states(), 2u);
  }
  EXPECT_EQ(folders_of_states(), 1u);
  write(path(), 2);
  EXPECT_EQ(read(path()), 2u);
  EXPECT_EQ(folders_of_states(), 1u);
}

TEST_F(folder, faults_are_named) {
  EXPECT_EQ(fault_of_reading(), path() + ": cannot be read: No such file or directory");
  std::filesystem::create_directories(path());
  EXPECT_EQ(fault_of_reading(), path() + ": has no checkpoint: there is no file 'manifest' in it");
  std::filesystem::remove(path());
  std::ofstream(path()) << "a file";
  try {
    write(path(), 1);
    FAIL();
  } catch (const checkpoint_error& error) {
    EXPECT_EQ(std::string(error.what()), path() + ": cannot be opened as a folder: Not a directory");
  }
  try {
    write(place_ + "/none/ckpt", 1);
    FAIL();
  } catch (const checkpoint_error& error) {
    EXPECT_EQ(std::string(error.what()), place_ + "/none/ckpt: cannot be made: No such file or directory");
  }
}

}  // namespace
}  // namespace tri::checkpoint_files
