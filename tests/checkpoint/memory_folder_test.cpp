#include "checkpoint/memory_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/folder.hpp"
#include "checkpoint/kept_memory.hpp"
#include "checkpoint/state_file.hpp"
#include "support/command_runner.hpp"

namespace tri::checkpoint_files {
namespace {

class memory_folder : public ::testing::Test {
 protected:
  std::string survival() const { return folder_.path().string(); }
  std::string write(int host, int slot, std::uint64_t token, std::uint64_t part, const std::string& text) {
    make_slot(survival(), host, slot);
    const std::string path = path_of_pe(slot_of_host(survival(), host, slot), part);
    kept_memory memory(path);
    state_writer writer(memory, {token, part});
    writer.write({1, 2, 3, 4}, text.data(), text.size());
    last_ = writer.finish();
    return path;
  }
  manifest contents(std::uint64_t generation, std::uint64_t token) const {
    manifest made;
    made.token = token;
    made.states = name_of_generation(generation);
    made.pes = {last_, last_};
    return made;
  }
  tri::testing::temporary_folder folder_;
  file_summary last_;
};

TEST_F(memory_folder, what_is_written_is_found) {
  const std::string path = write(1, 0, 17, 5, "state");
  write(2, 1, 18, 5, "another");
  count_generation(slot_of_host(survival(), 2, 1), contents(7, 18), "of the job");
  const held_memory found = list_memory(survival());
  ASSERT_EQ(found.files.size(), 2u);
  const auto own = std::ranges::find(found.files, path, &held_file::path);
  ASSERT_NE(own, found.files.end());
  EXPECT_EQ(own->slot, 0);
  EXPECT_EQ(own->token, 17u);
  EXPECT_EQ(own->part, 5u);
  EXPECT_EQ(own->bytes, std::filesystem::file_size(path));
  ASSERT_EQ(found.manifests.size(), 1u);
  EXPECT_EQ(found.manifests[0].slot, 1);
  EXPECT_EQ(generation_of(parse_manifest(found.manifests[0].text, "")), 7u);
  EXPECT_EQ(tri::testing::contents_of(found.manifests[0].job), "of the job");
}

TEST_F(memory_folder, records_are_read_as_they_were_written) {
  const std::string path = write(0, 0, 17, 5, "state");
  state_reader reader(path, {17, 5}, last_);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.head().number, 4u);
  EXPECT_EQ(std::string(reader.bytes().begin(), reader.bytes().end()), "state");
  EXPECT_FALSE(reader.next());
}

TEST_F(memory_folder, files_of_other_generations_go_when_one_counts) {
  write(0, 0, 17, 0, "old");
  write(0, 0, 18, 1, "new");
  count_generation(slot_of_host(survival(), 0, 0), contents(2, 18), "");
  const held_memory found = list_memory(survival());
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].token, 18u);
}

TEST_F(memory_folder, broken_files_and_manifests_are_not_found) {
  make_slot(survival(), 0, 0);
  const std::string slot = slot_of_host(survival(), 0, 0);
  tri::testing::write_file(slot + "/pe-0", "short");
  tri::testing::write_file(slot + "/manifest", "half of a mani");
  tri::testing::write_file(survival() + "/last", "something else");
  const held_memory found = list_memory(survival());
  EXPECT_TRUE(found.files.empty());
  EXPECT_TRUE(found.manifests.empty());
  EXPECT_TRUE(list_memory("/none").manifests.empty());
}

TEST_F(memory_folder, a_lost_process_takes_the_memory_of_its_emulated_host) {
  write(0, 0, 17, 0, "a");
  write(1, 0, 17, 1, "b");
  lose_memory_of(survival(), 2);  // no host is emulated
  EXPECT_EQ(list_memory(survival()).files.size(), 2u);
  note_processes(survival(), 0, 0, 2);
  note_processes(survival(), 1, 2, 2);
  lose_memory_of(survival(), 4);
  EXPECT_EQ(list_memory(survival()).files.size(), 2u);
  lose_memory_of(survival(), 2);
  const held_memory found = list_memory(survival());
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].part, 0u);
}

TEST_F(memory_folder, memory_of_hosts_that_are_no_more_is_removed) {
  write(0, 0, 18, 0, "a");
  write(1, 0, 17, 1, "b");
  count_generation(slot_of_host(survival(), 0, 0), contents(2, 18), "");
  count_generation(slot_of_host(survival(), 1, 0), contents(1, 17), "");
  remove_outdated(survival(), 18);
  EXPECT_TRUE(std::filesystem::exists(slot_of_host(survival(), 0, 0)));
  EXPECT_FALSE(std::filesystem::exists(slot_of_host(survival(), 1, 0)));
}

TEST_F(memory_folder, names_of_generations_are_numbers) {
  manifest other;
  for (const std::string name : {"states-3", "generation-", "generation-x", "generation-3x"}) {
    other.states = name;
    EXPECT_EQ(generation_of(other), 0u) << name;
  }
  other.states = name_of_generation(12);
  EXPECT_EQ(generation_of(other), 12u);
}

}  // namespace
}  // namespace tri::checkpoint_files
