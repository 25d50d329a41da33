// The file of one PE, or of the job: a head and records, each with a check value, so that nothing is used that is not
// what was written. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "os/unique_fd.hpp"

namespace tri::checkpoint_files {

/// Which file this is. A file of another checkpoint, or of another PE, is refused.
struct file_identity {
  std::uint64_t token = 0;
  std::uint64_t part = 0;  ///< the PE; `job_part` for the job's
  static constexpr std::uint64_t job_part = ~std::uint64_t{0};
};

/// What precedes the bytes of a record. Their meaning is up to the layer above.
struct record_head {
  std::uint32_t kind = 0;
  std::uint32_t type = 0;
  std::uint64_t collection = 0;
  std::uint64_t number = 0;
};

class state_writer {
 public:
  /// Makes the file, which must not exist. All throw checkpoint_error.
  state_writer(std::string path, const file_identity& identity);
  void write(const record_head& head, const void* bytes, std::size_t count);
  /// Everything is on the disk afterwards.
  file_summary finish();

 private:
  void put(const void* bytes, std::size_t count);
  void put_now(const char* bytes, std::size_t count);
  [[noreturn]] void fail(int error) const;

  const std::string path_;
  os::unique_fd file_;
  std::vector<char> waiting_;
  file_summary summary_;
};

class state_reader {
 public:
  /// Throws checkpoint_error when there is no such file, or it is not the one that the manifest names.
  state_reader(std::string path, const file_identity& identity, const file_summary& expected);
  /// False at the end: then all records have come, as they were written. Throws checkpoint_error.
  bool next();
  const record_head& head() const { return head_; }
  /// Until the next call of next().
  const std::vector<char>& bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  void get(void* to, std::size_t count);
  [[noreturn]] void fail(const std::string& why) const;

  const std::string path_;
  os::unique_fd file_;
  std::vector<char> ahead_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t left_ = 0;  // bytes that the file still has
  const file_summary expected_;
  file_summary so_far_;
  record_head head_;
  std::vector<char> bytes_;
};

}  // namespace tri::checkpoint_files
