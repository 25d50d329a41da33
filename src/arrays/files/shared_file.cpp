#include "arrays/files/shared_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "trireme/array_files.hpp"

namespace tri::arrays {
namespace {

/// A write beyond the limit of file sizes (RLIMIT_FSIZE) is an error, not a signal that ends the process.
class without_size_signal {
 public:
  without_size_signal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  without_size_signal(const without_size_signal&) = delete;
  without_size_signal& operator=(const without_size_signal&) = delete;
  ~without_size_signal() {
    const timespec no_time{};
    if (sigismember(&before_, SIGXFSZ) == 0)
      while (sigtimedwait(&signal_, nullptr, &no_time) == SIGXFSZ) {  // it waits for this thread
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_{};
  sigset_t before_{};
};

}  // namespace

shared_file::shared_file(std::string path, int descriptor, const char* verb)
    : path_(std::move(path)), file_(descriptor), verb_(verb) {
  if (!file_) fail(std::strerror(errno));
}

shared_file shared_file::for_writing(std::string path, const std::string& really) {
  return {std::move(path), open(really.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC), "written"};
}

shared_file shared_file::for_reading(std::string path) {
  // O_NONBLOCK: a named pipe without a writer is refused, not waited for.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  shared_file file(std::move(path), descriptor, "read");
  struct stat entry {};
  if (fstat(file.file_.get(), &entry) == 0 && !S_ISREG(entry.st_mode)) file.fail("it is not a regular file");
  return file;
}

void shared_file::fail(const std::string& why) const {
  throw file_error(fmt::format("{}: cannot be {}: {}", path_, verb_, why));
}

std::int64_t shared_file::size() const {
  struct stat entry {};
  if (fstat(file_.get(), &entry) != 0) fail(std::strerror(errno));
  return entry.st_size;
}

void shared_file::write(std::int64_t at, std::span<const std::byte> bytes) const {
  const without_size_signal guard;
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_.get(), bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += written;
  }
}

std::size_t shared_file::read_some(std::int64_t at, std::span<std::byte> bytes) const {
  std::size_t all = 0;
  while (all < bytes.size()) {
    const ssize_t come =
        pread(file_.get(), bytes.data() + all, bytes.size() - all, at + static_cast<std::int64_t>(all));
    if (come < 0 && errno == EINTR) continue;
    if (come < 0) fail(std::strerror(errno));
    if (come == 0) break;
    all += static_cast<std::size_t>(come);
  }
  return all;
}

void shared_file::read(std::int64_t at, std::span<std::byte> bytes) const {
  const std::size_t come = read_some(at, bytes);
  if (come < bytes.size()) fail(fmt::format("it ends at byte {}", at + static_cast<std::int64_t>(come)));
}

void shared_file::close() {
  if (::close(file_.release()) != 0) fail(std::strerror(errno));
}

}  // namespace tri::arrays
