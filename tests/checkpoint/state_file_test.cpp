#include "checkpoint/state_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>

namespace tri::checkpoint_files {
namespace {

class state_file : public testing::Test {
 protected:
  state_file() {
    char name[] = "/tmp/trireme_state_file_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~state_file() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/pe-3"; }

  static constexpr file_identity identity{77, 3};
  static std::string bytes_of(std::size_t record) {
    // The last is larger than the buffer, and the one before fills what is left of it.
    static constexpr std::size_t sizes[] = {0, 1, 7, 8, 31, 32, 1000, 1 << 20, (1 << 20) + 5, 3};
    return std::string(sizes[record], static_cast<char>('a' + record));
  }
  static constexpr std::size_t records = 10;
  static record_head head_of(std::size_t record) {
    return {static_cast<std::uint32_t>(record), 5, 1ull << 40, ~record};
  }
  file_summary write() {
    state_writer writer(path(), identity);
    for (std::size_t i = 0; i < records; ++i) writer.write(head_of(i), bytes_of(i).data(), bytes_of(i).size());
    return writer.finish();
  }
  std::string read(const file_summary& expected, const file_identity& which = identity) {
    try {
      state_reader reader(path(), which, expected);
      std::size_t record = 0;
      for (; reader.next(); ++record) {
        EXPECT_EQ(std::string(reader.bytes().begin(), reader.bytes().end()), bytes_of(record));
        EXPECT_EQ(reader.head().kind, head_of(record).kind);
        EXPECT_EQ(reader.head().number, head_of(record).number);
        EXPECT_EQ(reader.head().collection, head_of(record).collection);
      }
      EXPECT_EQ(record, records);
    } catch (const checkpoint_error& error) {
      return error.what();
    }
    return "";
  }
  std::string folder_;
};

TEST_F(state_file, comes_back) {
  const file_summary written = write();
  EXPECT_EQ(written.records, records);
  EXPECT_EQ(written.bytes, std::filesystem::file_size(path()));
  EXPECT_EQ(read(written), "");
}

TEST_F(state_file, changed_bytes_are_found) {
  const file_summary written = write();
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  std::uint64_t random = 1;
  for (int i = 0; i < 200; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto at =
        static_cast<std::streamoff>(i < 100 ? static_cast<std::uint64_t>(i) : (random >> 20) % written.bytes);
    char byte = 0;
    file.seekg(at).read(&byte, 1);
    file.seekp(at).put(static_cast<char>(byte ^ (1 << i % 8))).flush();
    EXPECT_TRUE(read(written).starts_with(path() + ": is damaged: ")) << at;
    file.seekp(at).put(byte).flush();
  }
  EXPECT_EQ(read(written), "");
}

TEST_F(state_file, other_lengths_are_found) {
  const file_summary written = write();
  std::filesystem::resize_file(path(), written.bytes - 1);
  EXPECT_EQ(read(written), path() + ": is damaged: it has " + std::to_string(written.bytes - 1) +
                               " bytes; the manifest says " + std::to_string(written.bytes));
}

TEST_F(state_file, files_of_others_are_refused) {
  const file_summary written = write();
  EXPECT_EQ(read(written, {78, 3}), path() + ": is damaged: it belongs to another checkpoint");
  EXPECT_EQ(read(written, {77, 4}), path() + ": is damaged: it belongs to another checkpoint");
  std::filesystem::remove(path());
  EXPECT_EQ(read(written), path() + ": cannot be read: No such file or directory");
}

// A record that is missing as a whole has no checksum of its own that could be wrong.
TEST_F(state_file, missing_records_are_found) {
  const file_summary written = write();
  std::stringstream all;
  all << std::ifstream(path(), std::ios::binary).rdbuf();
  const std::string text = all.str();
  const std::string shorter = text.substr(0, 32) + text.substr(32 + 40);  // without the first record, which is empty
  std::ofstream(path(), std::ios::binary | std::ios::trunc) << shorter;
  file_summary expected = written;
  expected.bytes = shorter.size();
  std::string fault;
  try {
    state_reader reader(path(), identity, expected);
    while (reader.next()) {
    }
  } catch (const checkpoint_error& error) {
    fault = error.what();
  }
  EXPECT_EQ(fault, path() + ": is damaged: its records are not those that the manifest counts");
}

TEST_F(state_file, an_existing_file_is_not_written_to) {
  write();
  EXPECT_THROW(write(), checkpoint_error);
}

// A limit on the size of files stands for a full disk.
TEST_F(state_file, a_full_disk_is_reported) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1 << 19, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string fault;
  try {
    write();
  } catch (const checkpoint_error& error) {
    fault = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(fault, path() + ": cannot be written: File too large");
}

}  // namespace
}  // namespace tri::checkpoint_files
