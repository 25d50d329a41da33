#include "arrays/files/shared_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "arrays/files/size_signal.hpp"
#include "trireme/array_files.hpp"

namespace tri::arrays {
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

void shared_file::set_size(std::int64_t bytes) const {
  const without_size_signal guard;
  if (ftruncate(file_.get(), bytes) != 0) fail(std::strerror(errno));
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
