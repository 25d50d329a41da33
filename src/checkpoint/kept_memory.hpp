// A file in memory (/dev/shm) that is written again and again: its pages stay allocated and mapped, so that writing it
// costs about a copy; new pages would cost twice as much, for the kernel fills them with zeros first. It outlives its
// process. One owner, one thread.
#pragma once

#include <cstddef>
#include <string>

#include "os/unique_fd.hpp"

namespace tri::checkpoint_files {

class kept_memory {
 public:
  /// Opens the file, or makes it. What is in it does not count: begin again. All throw checkpoint_error.
  explicit kept_memory(std::string path);
  ~kept_memory();
  kept_memory(const kept_memory&) = delete;
  kept_memory& operator=(const kept_memory&) = delete;

  void clear() { size_ = 0; }
  /// Behind what is there.
  void append(const void* bytes, std::size_t count) { put(size_, bytes, count); }
  /// Anywhere: parts may come in any order.
  void put(std::size_t offset, const void* bytes, std::size_t count);
  /// Room for at least so many bytes behind the offset, where they can be written in place; valid until the next call.
  char* room(std::size_t offset, std::size_t least);
  /// Bytes that need no more room.
  std::size_t capacity() const { return capacity_; }
  /// What was written in place.
  void extend_to(std::size_t size) { size_ = size; }
  /// From now on the file is as long as what is in it.
  void finish();

  std::size_t size() const { return size_; }
  const char* data() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  void grow(std::size_t least);
  [[noreturn]] void fail(int error) const;

  const std::string path_;
  os::unique_fd file_;
  char* bytes_ = nullptr;
  std::size_t mapped_ = 0;    // of the address space; not less than capacity_
  std::size_t capacity_ = 0;  // the length of the file; all its pages are allocated, else to touch one could kill us
  std::size_t size_ = 0;
};

}  // namespace tri::checkpoint_files
