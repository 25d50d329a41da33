// What recorders and processes write, record by record, with times that are given.
#include <gmock/gmock.h>

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/another_user.hpp"
#include "support/command_runner.hpp"
#include "trace/process_trace.hpp"
#include "trace/recorder.hpp"

namespace tri::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

struct file_text {
  nlohmann::json description;
  std::vector<record> records;
  std::vector<record> of(event what) const {
    std::vector<record> found;
    for (const record& one : records)
      if (one.what == what) found.push_back(one);
    return found;
  }
};

file_text read(const fs::path& file) {
  const std::string bytes = testing::contents_of(file);
  file_head head{};
  EXPECT_GE(bytes.size(), sizeof head);
  std::memcpy(&head, bytes.data(), sizeof head);
  EXPECT_EQ(std::string(head.magic, sizeof head.magic), "TRITRACE");
  EXPECT_EQ(head.version, format_version);
  EXPECT_EQ(head.description_bytes % sizeof(record), 0u);
  file_text text;
  text.description = nlohmann::json::parse(bytes.substr(sizeof head, head.description_bytes));
  const std::size_t from = sizeof head + head.description_bytes;
  EXPECT_EQ((bytes.size() - from) % sizeof(record), 0u);
  text.records.resize((bytes.size() - from) / sizeof(record));
  std::memcpy(static_cast<void*>(text.records.data()), bytes.data() + from, text.records.size() * sizeof(record));
  return text;
}

class recorder_test : public ::testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "row.trace").string(); }
  testing::temporary_folder folder_;
};

constexpr std::uint64_t slow = 10'000'000;

TEST_F(recorder_test, keeps_events_until_the_buffer_is_full) {
  recorder row(path(), R"({"pe":3})", 64, slow);
  const auto size = fs::file_size(path());
  for (std::uint64_t i = 1; i <= 20; ++i) row.end(7, row.begin(7, 2, 40, 5, 100 * i), 100 * i + 50);
  EXPECT_EQ(fs::file_size(path()), size) << "nothing is written before";
  for (std::uint64_t i = 21; i <= 40; ++i) row.end(7, row.begin(7, 2, 40, 5, 100 * i), 100 * i + 50);
  EXPECT_EQ(fs::file_size(path()), size + 64 * sizeof(record));
  row.close();
  const file_text text = read(path());
  EXPECT_EQ(text.description.at("pe"), 3);
  const auto begins = text.of(event::begin);
  ASSERT_EQ(begins.size(), 40u);
  ASSERT_EQ(text.of(event::end).size(), 40u);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    EXPECT_EQ(begins[i].ticks, 100 * (i + 1));
    EXPECT_EQ(begins[i].handler, 7u);
    EXPECT_EQ(begins[i].peer, 2u);
    EXPECT_EQ(begins[i].bytes, 40u);
    EXPECT_EQ(begins[i].tag, 5u);
  }
  EXPECT_EQ(text.of(event::clock).size(), 3u) << "at the start, after the buffer was written, at the end";
  EXPECT_EQ(text.of(event::written).size(), 1u);
}

// M51. In virtual time: 20 ms among calls of 9.9 ms.
TEST_F(recorder_test, a_stall_gives_exactly_one_event) {
  recorder row(path(), "{}", 1024, slow);
  std::uint64_t now = 1000;
  for (std::uint32_t call = 0; call < 100; ++call) {
    const auto start = row.begin(call, 0, 0, 0, now);
    now += call == 42 ? 20'000'000 : 9'900'000;
    row.end(call, start, now);
  }
  row.close();
  const auto found = read(path()).of(event::slow);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].handler, 42u);
  EXPECT_EQ(found[0].number, 20'000'000u);
}

TEST_F(recorder_test, a_slow_call_inside_another_is_told_once) {
  recorder row(path(), "{}", 1024, slow);
  const auto method = row.begin(1, 0, 0, 0, 1000);
  const auto send = row.call_begins(2000);
  row.call_ended(wire_send_call, send, 20'002'000);
  row.end(1, method, 20'003'000);
  // What the method takes beside it counts.
  const auto second = row.begin(1, 0, 0, 0, 30'000'000);
  row.call_ended(wire_send_call, row.call_begins(30'000'000), 50'000'000);
  row.end(1, second, 60'000'000);
  row.close();
  const auto found = read(path()).of(event::slow);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].handler, wire_send_call);
  EXPECT_EQ(found[1].handler, wire_send_call);
  EXPECT_EQ(found[2].handler, 1u);
  EXPECT_EQ(found[2].number, 10'000'000u);
}

TEST_F(recorder_test, idle_is_told_once_until_something_happens) {
  recorder row(path(), "{}", 1024, slow);
  for (std::uint64_t now = 1; now < 1000; ++now) row.idle(now);
  row.end(1, row.begin(1, 0, 0, 0, 1000), 1001);
  for (std::uint64_t now = 1002; now < 2000; ++now) row.idle(now);
  row.close();
  EXPECT_EQ(read(path()).of(event::idle).size(), 2u);
}

TEST_F(recorder_test, sends_have_numbers) {
  recorder row(path(), "{}", 1024, slow);
  EXPECT_EQ(row.send(9, target::pe, 4, 64, 1), 1u);
  EXPECT_EQ(row.send(9, target::process, 1, std::uint64_t{1} << 40, 2), 2u);
  row.close();
  const auto sends = read(path()).of(event::send);
  ASSERT_EQ(sends.size(), 2u);
  EXPECT_EQ(sends[0].number, 1u);
  EXPECT_EQ(sends[1].bytes, 0xffff'ffffu) << "as much as fits";
  EXPECT_EQ(sends[1].to, target::process);
  for (std::uint64_t number = 0; number < 1000; ++number) EXPECT_NE(tag_of(number), 0) << "0 is no tag";
}

TEST_F(recorder_test, a_file_that_cannot_be_made_is_told) {
  EXPECT_THAT([&] { recorder((folder_.path() / "no" / "row.trace").string(), "{}", 16, slow); },
              ThrowsMessage<std::runtime_error>(HasSubstr("row.trace: No such file or directory")));
}

TEST_F(recorder_test, a_full_disk_ends_the_trace_with_a_line) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signalled = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit nothing{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &nothing), 0);
  EXPECT_THAT([&] { recorder((folder_.path() / "row.trace").string(), "{}", 16, slow); },
              ThrowsMessage<std::runtime_error>(HasSubstr("row.trace: File too large")));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, signalled);
}

TEST_F(recorder_test, what_others_have_put_there_is_not_written_to) {
  tri::testing::write_file(folder_.path() / "precious", "old");
  fs::create_symlink("precious", folder_.path() / "row.trace");
  EXPECT_THAT([&] { recorder((folder_.path() / "row.trace").string(), "{}", 16, slow); },
              ThrowsMessage<std::runtime_error>(HasSubstr("row.trace: File exists")));
  EXPECT_EQ(tri::testing::contents_of(folder_.path() / "precious"), "old");
}

TEST_F(recorder_test, a_folder_behind_a_link_of_another_user_is_refused) {
  if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
  fs::permissions(folder_.path(), fs::perms(01777));
  fs::create_directory(folder_.path() / "target");
  tri::testing::write_file(folder_.path() / "target" / "pe-0.trace", "old");
  fs::create_symlink("target", folder_.path() / "link");
  ASSERT_EQ(lchown((folder_.path() / "link").c_str(), tri::testing::another_user, tri::testing::another_user), 0);
  EXPECT_THAT([&] { remove_old_traces((folder_.path() / "link").string()); },
              ThrowsMessage<std::runtime_error>(HasSubstr("it is a symbolic link of user 65534")));
  EXPECT_TRUE(fs::exists(folder_.path() / "target" / "pe-0.trace"));
}

class process_trace_test : public recorder_test {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename().string());
    return names;
  }
  process_facts facts_{.process = 1, .processes = 2, .host = 1, .hosts = 2, .pes_per_process = 3, .handlers = {"a"}};
};

// M49.
TEST_F(process_trace_test, only_chosen_pes_have_files) {
  const auto traces = process_trace::open({.folder = folder_.path().string(), .pes = "0,4-5"}, facts_);
  ASSERT_NE(traces, nullptr);
  EXPECT_THAT(files(), UnorderedElementsAre("pe-4.trace", "pe-5.trace", "wire-1.trace"));
  EXPECT_EQ(traces->of_pe(0), nullptr);
  EXPECT_NE(traces->of_pe(1), nullptr);
  EXPECT_EQ(process_trace::open({.folder = folder_.path().string(), .pes = "0-2"}, facts_), nullptr);
}

TEST_F(process_trace_test, the_wire_is_traced_while_a_pe_is) {
  {
    const auto traces = process_trace::open({.folder = folder_.path().string(), .events = 64}, facts_);
    const auto size = fs::file_size(folder_.path() / "wire-1.trace");
    for (std::uint32_t i = 0; i < 1000; ++i) traces->wire()->left(0, i);
    EXPECT_EQ(fs::file_size(folder_.path() / "wire-1.trace"), size) << "off: no growth";
    traces->switched(true);
    traces->wire()->left(0, 1000);
    traces->wire()->arrived(2, 7, 0, target::pe, 4);
    traces->wire()->thread_worked(true, 5);
    traces->wire()->thread_worked(true, 6);
    traces->wire()->thread_worked(false, 7);
    traces->switched(false);
    traces->wire()->left(0, 1001);
  }
  const file_text text = read(folder_.path() / "wire-1.trace");
  EXPECT_EQ(text.description.count("pe"), 0u);
  ASSERT_EQ(text.of(event::left).size(), 1u);
  EXPECT_EQ(text.of(event::left)[0].number, 1000u);
  ASSERT_EQ(text.of(event::arrived).size(), 1u);
  EXPECT_EQ(text.of(event::arrived)[0].bytes, 4u);
  EXPECT_EQ(text.of(event::work).size(), 1u);
  EXPECT_EQ(text.of(event::idle).size(), 1u);
}

TEST_F(process_trace_test, any_thread_may_write_to_the_wire) {
  constexpr std::uint32_t threads = 4, messages = 5000;
  {
    const auto traces = process_trace::open({.folder = folder_.path().string(), .events = 64}, facts_);
    traces->switched(true);
    std::vector<std::thread> all;
    for (std::uint32_t self = 0; self < threads; ++self)
      all.emplace_back([&traces, self] {
        for (std::uint32_t i = 0; i < messages; ++i) {
          traces->wire()->left(self, i);
          traces->wire()->arrived(self, i, 0, target::pe, 4);
          if (self == 0) traces->wire()->thread_worked(i % 2 == 0, os::ticks());
          if (i % 1000 == 0) traces->wire()->call_ended(wire_progress_call, 0);  // since the machine was started
        }
      });
    for (std::thread& each : all) each.join();
  }
  const file_text text = read(folder_.path() / "wire-1.trace");
  std::vector<std::uint64_t> next(threads, 0);
  for (const record& one : text.of(event::left)) EXPECT_EQ(one.number, next[one.peer]++);
  EXPECT_THAT(next, ::testing::Each(messages));
  EXPECT_EQ(text.of(event::arrived).size(), threads * messages);
  EXPECT_EQ(text.of(event::work).size(), messages / 2);
  EXPECT_EQ(text.of(event::slow).size(), threads * messages / 1000);
}

TEST_F(process_trace_test, traces_of_an_earlier_job_are_removed_and_nothing_else) {
  for (const char* const name : {"pe-7.trace", "wire-3.trace", "notes.txt", "my.trace"})
    testing::write_file(folder_.path() / name, "x");
  remove_old_traces(folder_.path().string());
  EXPECT_THAT(files(), UnorderedElementsAre("notes.txt", "my.trace"));
  remove_old_traces((folder_.path() / "new" / "folder").string());
  EXPECT_TRUE(fs::is_directory(folder_.path() / "new" / "folder"));
  EXPECT_THAT([&] { remove_old_traces((folder_.path() / "notes.txt").string()); },
              ThrowsMessage<std::runtime_error>(HasSubstr("notes.txt: ")));
}

TEST_F(process_trace_test, a_choice_that_is_none_is_told) {
  const auto open = [&](const char* pes) {
    return [this, pes] { process_trace::open({.folder = folder_.path().string(), .pes = pes}, facts_); };
  };
  EXPECT_THAT(open("0-6"), ThrowsMessage<std::invalid_argument>(HasSubstr("there is no PE 6: the PEs are 0-5")));
  EXPECT_THAT(open("some"),
              ThrowsMessage<std::invalid_argument>(HasSubstr("is 'some'; right are all, or PEs such as")));
}

}  // namespace
}  // namespace tri::trace
