// Node records: which processes share a host, and their numbers.
#include "boot/node_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "boot/bootstrap_messages.hpp"

namespace tri::boot {
namespace {

using ints = std::vector<int>;

node_record on_machine(int number) {
  node_record record = this_node("socket");
  record.network_namespace = static_cast<std::uint64_t>(number);
  return record;
}

TEST(node_record, tells_where_this_process_is) {
  const node_record record = this_node("socket");
  EXPECT_EQ(record.pid, getpid());
  EXPECT_EQ(record.user, geteuid());
  EXPECT_STREQ(record.socket_name.data(), "socket");
  EXPECT_EQ(std::strlen(record.boot_id.data()), 36u);
  EXPECT_GT(std::strlen(record.host_name.data()), 0u);
  EXPECT_TRUE(record.same_host(this_node("another")));
}

TEST(node_record, any_difference_makes_another_host) {
  const node_record here = this_node("socket");
  for (int what = 0; what < 5; ++what) {
    node_record other = here;
    if (what == 0) other.network_namespace += 1;
    if (what == 1) other.process_namespace += 1;
    if (what == 2) other.user_namespace += 1;
    if (what == 3) other.user += 1;
    if (what == 4) other.boot_id[0] ^= 1;
    EXPECT_FALSE(here.same_host(other)) << what;
  }
  node_record same = here;
  same.host_name[0] ^= 1;  // a name says nothing
  EXPECT_TRUE(here.same_host(same));
}

void expect_refused(std::span<const std::byte> bytes, const std::string& text) {
  try {
    read_node_record(bytes);
    FAIL() << text;
  } catch (const protocol_error& problem) {
    EXPECT_THAT(problem.what(), ::testing::HasSubstr(text));
  }
}

TEST(node_record, is_checked_when_it_is_read) {
  const node_record record = this_node("socket");
  EXPECT_EQ(read_node_record(bytes_of(record)).pid, getpid());
  expect_refused({}, "0 bytes are not a node record");
  expect_refused(bytes_of(record).first(100), "a record of a node has 100 bytes instead of 208");
  node_record bad = record;
  bad.magic += 1;
  expect_refused(bytes_of(bad), "are not a node record");
  bad = record;
  bad.version += 1;
  expect_refused(bytes_of(bad), "version 2 instead of 1: the processes come from different versions of Trireme");
  bad = record;
  bad.host_name.fill('x');
  expect_refused(bytes_of(bad), "is not terminated");
}

// Ranks dealt out to machines like cards, as `mpirun --map-by node` does.
TEST(node_record, processes_of_a_host_get_contiguous_numbers) {
  std::vector<node_record> records;
  for (const int machine : {7, 9, 7, 3, 9, 7}) records.push_back(on_machine(machine));
  const numbering made = number_processes(records);
  EXPECT_EQ(made.rank_of_process, (ints{0, 2, 5, 1, 4, 3}));
  EXPECT_EQ(made.process_of_rank, (ints{0, 3, 1, 5, 4, 2}));
  ASSERT_EQ(made.machines.hosts(), 3);
  EXPECT_EQ(made.machines.processes(), 6);
  EXPECT_EQ(made.machines.processes_of(0), 3);
  EXPECT_EQ(made.machines.processes_of(1), 2);
  EXPECT_EQ(made.machines.first_process_of(2), 5);
  const ints hosts{0, 0, 0, 1, 1, 2}, local_ranks{0, 1, 2, 0, 1, 0};
  for (int process = 0; process < 6; ++process) {
    EXPECT_EQ(made.machines.host_of(process), hosts[static_cast<std::size_t>(process)]);
    EXPECT_EQ(made.machines.local_rank_of(process), local_ranks[static_cast<std::size_t>(process)]);
  }
}

}  // namespace
}  // namespace tri::boot
