// A file of which each PE reads or writes parts: descriptor, path for messages, and errors that say what is wrong. One
// owner, one thread. All throw file_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "os/unique_fd.hpp"

namespace tri::arrays {

class shared_file {
 public:
  /// `path` is what messages name; `really` the file to write, which exists.
  static shared_file for_writing(std::string path, const std::string& really);
  static shared_file for_reading(std::string path);

  std::int64_t size() const;
  void write(std::int64_t at, std::span<const std::byte> bytes) const;
  /// All of them: a file that ends before is an error.
  void read(std::int64_t at, std::span<std::byte> bytes) const;
  /// As many as there are, up to those.
  std::size_t read_some(std::int64_t at, std::span<std::byte> bytes) const;
  /// Later writes up to there do not fail for its size.
  void set_size(std::int64_t bytes) const;
  /// What file systems find out late.
  void close();

  [[noreturn]] void fail(const std::string& why) const;

 private:
  shared_file(std::string path, int descriptor, const char* verb);
  std::string path_;
  os::unique_fd file_;
  const char* verb_;  // what cannot be done: written, read
};

}  // namespace tri::arrays
