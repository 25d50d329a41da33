// A descriptor that others read, written to without ever waiting for them: text that does not fit now is buffered. So a
// launcher whose reader has stopped still sees signals and dead processes. Owned by the launcher, one object per
// descriptor, one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "os/unique_fd.hpp"

namespace tri::launch {

class nonblocking_output {
 public:
  // The caller keeps `fd`, which stays blocking for its other users: for pipes and terminals this opens a file
  // description of its own.
  explicit nonblocking_output(int fd);

  // Writes what fits and keeps the rest.
  void add(std::string_view text);
  // Writes as much of the buffered text as fits; whether anything did.
  bool flush();
  // Bytes buffered so far. When full, the caller should not read more from elsewhere; own messages may still be added.
  std::size_t waiting() const { return waiting_.size(); }
  bool full() const { return waiting_.size() >= most_waiting; }
  // errno of the write that failed, EPIPE when nothing can read any more; 0: none did. From then on all is dropped.
  int failure() const { return failure_; }
  int fd() const { return own_ ? own_.get() : fd_; }  // to wait until it can be written (POLLOUT)
  // Whether both lead to the same pipe, terminal or file, so that they must share an object or lines would mix.
  static bool same_target(int fd, int other);

 private:
  enum class mode { plain, non_blocking, socket, after_poll };
  static constexpr std::size_t most_waiting = std::size_t{1} << 20;
  long write_some(const char* text, std::size_t bytes) const;

  int fd_;
  os::unique_fd own_;
  mode mode_;
  int failure_ = 0;
  std::string waiting_;
};

}  // namespace tri::launch
