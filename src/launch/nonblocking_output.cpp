#include "launch/nonblocking_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tri::launch {

nonblocking_output::nonblocking_output(int fd) : fd_(fd), mode_(mode::plain) {
  struct stat target {};
  if (fstat(fd, &target) != 0) return;
  if (S_ISSOCK(target.st_mode)) {
    mode_ = mode::socket;
  } else if (S_ISFIFO(target.st_mode) || S_ISCHR(target.st_mode)) {
    own_ =
        os::unique_fd(open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    mode_ = own_ ? mode::non_blocking : mode::after_poll;  // another user's pipe cannot be opened again
  }
}

bool nonblocking_output::same_target(int fd, int other) {
  struct stat one {};
  struct stat two {};
  return fstat(fd, &one) == 0 && fstat(other, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

// As write(2); EAGAIN for "not now".
long nonblocking_output::write_some(const char* text, std::size_t bytes) const {
  switch (mode_) {
    case mode::socket:
      return send(fd_, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    case mode::after_poll: {
      pollfd room{fd_, POLLOUT, 0};
      if (poll(&room, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
      }
      return write(fd_, text, std::min<std::size_t>(bytes, PIPE_BUF));  // this much fits when poll reports POLLOUT
    }
    case mode::plain:
    case mode::non_blocking:
      break;
  }
  return write(fd(), text, bytes);
}

void nonblocking_output::add(std::string_view text) {
  if (failure_ != 0) return;
  waiting_ += text;
  flush();
}

bool nonblocking_output::flush() {
  std::size_t written = 0;
  while (written < waiting_.size()) {
    const long count = write_some(waiting_.data() + written, waiting_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      failure_ = count < 0 ? errno : EIO;
      waiting_.clear();
      return false;
    }
    written += static_cast<std::size_t>(count);
  }
  waiting_.erase(0, written);
  return written > 0;
}

}  // namespace tri::launch
