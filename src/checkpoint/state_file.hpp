// The file of one PE, or of the job: a head and records, each with a check value, so that nothing is used that is not
// what was written. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/kept_memory.hpp"
#include "checkpoint/manifest.hpp"
#include "os/unique_fd.hpp"

namespace tri::checkpoint_files {

/// Which file this is. A file of another checkpoint, or of another PE, is refused.
struct file_identity {
  std::uint64_t token = 0;
  std::uint64_t part = 0;  ///< the PE; `job_part` for the job's
  static constexpr std::uint64_t job_part = ~std::uint64_t{0};
};

/// Of a file that begins as a state file; none: of another one.
std::optional<file_identity> identity_of_file(const std::string& path);

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
  /// Writes into memory, in place of what is there; it lives as long.
  state_writer(kept_memory& memory, const file_identity& identity);
  void write(const record_head& head, const void* bytes, std::size_t count);
  /// Into memory a record is better written in place: its bytes into this room (for at least so many, with those that
  /// are there at its begin, until the next call), then the rest of it. They are not in a checksum: memory is as safe
  /// as the objects were.
  bool is_in_memory() const { return memory_ != nullptr; }
  char* room_of_record(std::size_t least, std::size_t& capacity);
  void end_record(const record_head& head, std::size_t count);
  /// Everything is on the disk afterwards, or in the memory.
  file_summary finish();

 private:
  void begin(const file_identity& identity);
  void put(const void* bytes, std::size_t count);
  void put_now(const char* bytes, std::size_t count);
  [[noreturn]] void fail(int error) const;

  const std::string path_;
  kept_memory* const memory_ = nullptr;  // null: into the file
  os::unique_fd file_;
  std::vector<char> waiting_;
  std::uint64_t on_its_way_ = 0;  // bytes that the disk was asked to write before the end
  std::uint64_t written_ = 0;
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
  bool has_checksums_ = true;  // of the bytes of records; else of their heads only
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t left_ = 0;  // bytes that the file still has
  const file_summary expected_;
  file_summary so_far_;
  record_head head_;
  std::vector<char> bytes_;
};

}  // namespace tri::checkpoint_files
