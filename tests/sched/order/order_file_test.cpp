// The record of an order of messages: read back as written, and refused where it is not what was written.
#include "sched/order/order_file.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <random>
#include <stdexcept>

#include "support/command_runner.hpp"

namespace tri::sched {
namespace {

using ::testing::HasSubstr;

class order_file : public ::testing::Test {
 protected:
  static order_header header(std::uint32_t pe = 0) {
    order_header made;
    made.pe = pe;
    made.pes = 3;
    made.processes = 1;
    made.hosts = 1;
    made.program = 4711;
    return made;
  }
  static std::vector<recorded_message> some(std::size_t count) {
    std::mt19937_64 random(count);
    std::vector<recorded_message> messages;
    for (std::size_t i = 0; i < count; ++i) {
      recorded_message one;
      one.what = static_cast<message_class>(random() % 7);
      one.source = static_cast<std::uint32_t>(random() % 1000000);
      one.handler = static_cast<std::uint32_t>(random() % 100000);
      if (has_number(one.what)) one.number = random() % (std::uint64_t{1} << 40);
      messages.push_back(one);
    }
    return messages;
  }
  std::string folder() const { return folder_.path().string(); }
  std::string path(int pe = 0) const { return path_of_order(folder(), pe); }
  void write(const std::vector<recorded_message>& messages, bool finish, std::uint32_t pe = 0) const {
    std::filesystem::remove(path(static_cast<int>(pe)));
    order_writer writer(path(static_cast<int>(pe)), header(pe));
    for (const recorded_message& one : messages) writer.add(one);
    if (finish) writer.finish();
  }
  static std::vector<recorded_message> rest_of(order_reader& reader) {
    std::vector<recorded_message> read;
    for (; reader.next() != nullptr; reader.pop()) read.push_back(*reader.next());
    return read;
  }
  std::string refusal(const order_header& expected) const {
    try {
      order_reader reader(folder(), expected);
      return "taken";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  testing::temporary_folder folder_;
};

TEST_F(order_file, is_read_as_written) {
  for (const std::size_t count : {0u, 1u, 7u, 300000u}) {  // the last in several windows
    const auto messages = some(count);
    write(messages, true);
    order_reader reader(folder(), header());
    EXPECT_TRUE(reader.is_complete());
    EXPECT_EQ(rest_of(reader), messages);
  }
}

TEST_F(order_file, of_a_job_that_was_killed_is_valid_up_to_its_end) {
  const auto messages = some(50);
  write(messages, false);
  order_reader reader(folder(), header());
  EXPECT_FALSE(reader.is_complete());
  EXPECT_EQ(rest_of(reader), messages);
}

TEST_F(order_file, cut_anywhere_is_a_shorter_record) {
  const auto messages = some(20);
  write(messages, true);
  const std::string whole = testing::contents_of(path());
  for (std::size_t bytes = sizeof(order_header); bytes < whole.size(); ++bytes) {
    testing::write_file(path(), whole.substr(0, bytes));
    order_reader reader(folder(), header());
    const auto read = rest_of(reader);
    EXPECT_FALSE(reader.is_complete()) << bytes;
    ASSERT_LE(read.size(), messages.size());
    EXPECT_TRUE(std::equal(read.begin(), read.end(), messages.begin())) << bytes;
  }
  testing::write_file(path(), whole.substr(0, sizeof(order_header) - 1));
  EXPECT_THAT(refusal(header()), HasSubstr("it is too short"));
}

TEST_F(order_file, with_any_byte_changed_is_refused) {
  write(some(20), true);
  const std::string whole = testing::contents_of(path());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string edited = whole;
    edited[at] = static_cast<char>(edited[at] ^ 4);
    testing::write_file(path(), edited);
    EXPECT_NE(refusal(header()), "taken") << at;
  }
}

TEST_F(order_file, with_messages_swapped_or_missing_is_refused) {
  const recorded_message one{message_class::message, 1, 10, 0};
  const recorded_message two{message_class::message, 2, 10, 0};
  write({one, two, one}, true);
  const std::string whole = testing::contents_of(path());
  const auto word = [&](std::size_t i) { return whole.substr(sizeof(order_header) + 8 * i, 8); };
  const std::string head = whole.substr(0, sizeof(order_header));
  const std::string tail = whole.substr(sizeof(order_header) + 24);
  for (const std::string& middle :
       {word(1) + word(0) + word(2), word(0) + word(2), word(0) + word(0) + word(1) + word(2)}) {
    testing::write_file(path(), head + middle + tail);
    EXPECT_THAT(refusal(header()), HasSubstr("is damaged, or was edited: its entry"));
  }
  testing::write_file(path(), head + word(0) + std::string(8, '\0') + word(2) + tail);
  EXPECT_THAT(refusal(header()), HasSubstr("behind its entry 1 is a gap"));
}

TEST_F(order_file, of_another_job_or_program_is_refused) {
  write(some(3), true);
  order_header other = header();
  other.pes = 4;
  EXPECT_THAT(refusal(other),
              HasSubstr("is of a job of 1 processes with 3 PEs on 1 hosts, but this job has 1 processes "
                        "with 4 PEs on 1 hosts"));
  other = header();
  other.program = 1;
  EXPECT_THAT(refusal(other), HasSubstr("is of another program"));
  EXPECT_THAT(refusal(header(2)), HasSubstr("pe-2.order cannot be read: No such file"));
  std::filesystem::rename(path(), path(1));
  EXPECT_THAT(refusal(header(1)), HasSubstr("pe-0.order cannot be read: No such file"));
  write(some(3), true);
  EXPECT_THAT(refusal(header(1)), HasSubstr("pe-1.order is of PE 0"));
  testing::write_file(path(), std::string(1000, 'x'));
  EXPECT_THAT(refusal(header()), HasSubstr("is not one of --tri-record"));
}

TEST_F(order_file, of_an_earlier_job_is_removed_and_others_stay) {
  write(some(3), true);
  testing::write_file(folder_.path() / "notes.txt", "mine");
  remove_old_orders(folder());
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "notes.txt"));
  EXPECT_THROW(remove_old_orders((folder_.path() / "notes.txt").string()), std::runtime_error);
}

}  // namespace
}  // namespace tri::sched
