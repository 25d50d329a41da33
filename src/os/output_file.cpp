#include "os/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "os/packet_socket.hpp"

namespace tri::os {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t end = path.find_last_of('/');
  if (end == std::string::npos) return ".";
  return end == 0 ? "/" : path.substr(0, end);
}

bool is_at(const unique_fd& file, const std::string& path) {
  struct stat opened {};
  struct stat there {};
  return fstat(file.get(), &opened) == 0 && lstat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

// Removes a file that a process of this user has left that was killed. Under its lock, and nothing but the holder of
// its lock takes a file from its name: so it is still that one.
void remove_left(const std::string& path) {
  const unique_fd left(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat entry {};
  if (!left || fstat(left.get(), &entry) != 0 || !S_ISREG(entry.st_mode) || entry.st_uid != geteuid()) return;
  if (flock(left.get(), LOCK_EX | LOCK_NB) == 0 && is_at(left, path)) unlink(path.c_str());
}

// A new file of this name, with its lock; none: another process has one, and errno is EEXIST, or it cannot be made.
unique_fd make_locked(const std::string& path) {
  constexpr int most_waits = 100;  // ms
  for (int attempt = 0; attempt < 3; ++attempt) {
    unique_fd made(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!made) return {};
    // Others of this user have it for moments only. Whoever else may read the file could keep it: then it has no lock.
    for (int wait = 0; flock(made.get(), LOCK_EX | LOCK_NB) != 0 && wait < most_waits; ++wait) poll(nullptr, 0, 1);
    if (is_at(made, path)) return made;  // one may have removed it before it had the lock
  }
  errno = EEXIST;
  return {};
}

}  // namespace

void refuse_planted(const std::string& path) {
  struct stat entry {};
  struct stat folder {};
  if (lstat(path.c_str(), &entry) != 0 || S_ISREG(entry.st_mode) || stat(folder_of(path).c_str(), &folder) != 0) return;
  const bool is_shared = (folder.st_mode & (S_IWOTH | S_IWGRP)) != 0;
  const bool is_trusted = entry.st_uid == geteuid() || entry.st_uid == 0 || entry.st_uid == folder.st_uid;
  if (is_shared && !is_trusted)
    throw std::runtime_error(fmt::format(
        "{}: cannot be written: {} of user {}, in a folder where others may write; remove it, or name another path",
        path, S_ISLNK(entry.st_mode) ? "it is a symbolic link" : "it is not a regular file, and", entry.st_uid));
}

output_file::output_file(std::string path, output_kind kind) : path_(std::move(path)) {
  refuse_planted(path_);
  struct stat entry {};
  bool exists = lstat(path_.c_str(), &entry) == 0;
  if (exists && kind == output_kind::regular_file && !S_ISREG(entry.st_mode)) {
    char* const target = realpath(path_.c_str(), nullptr);
    if (target == nullptr) fail(std::strerror(errno));
    exists = stat(target, &entry) == 0;
    if (exists && S_ISREG(entry.st_mode)) really_ = target;
    std::free(target);
    if (really_.empty()) fail("it is not a regular file");
  }
  if (exists && !S_ISREG(entry.st_mode)) {
    file_ = unique_fd(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666));
    if (!file_) fail(std::strerror(errno));
    return;
  }
  beside_ = (really_.empty() ? path_ : really_) + ".trireme-unfinished";
  remove_left(beside_);
  file_ = make_locked(beside_);
  if (!file_ && errno == EEXIST) {
    beside_ += "." + random_text().substr(0, 8);
    file_ = make_locked(beside_);
  }
  if (file_) {
    if (exists) {
      mode_ = entry.st_mode & 0777;
      fchmod(file_.get(), *mode_ | S_IWUSR);  // who removes what is left of a killed process opens it for that
    }
    return;
  }
  beside_.clear();
  // A file of the user's in a folder that takes no new ones.
  if (kind == output_kind::any && exists && (errno == EACCES || errno == EROFS))
    file_ = unique_fd(open(path_.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
  if (!file_) fail(std::strerror(errno));
}

output_file::~output_file() {
  if (!beside_.empty()) unlink(beside_.c_str());
}

void output_file::fail(const char* why) const {
  throw std::runtime_error(fmt::format("{}: cannot be written: {}", path_, why));
}

void output_file::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void output_file::sync() {
  if (fsync(file_.get()) != 0) fail(std::strerror(errno));
}

void output_file::finish() {
  // File systems find out late, when a descriptor is closed; the lock goes with the last one, and that must not be
  // before the file has its place.
  const int another = fcntl(file_.get(), F_DUPFD_CLOEXEC, 0);
  if (another < 0 || close(another) != 0) fail(std::strerror(errno));
  if (mode_) fchmod(file_.get(), *mode_);
  if (!beside_.empty() && std::rename(beside_.c_str(), (really_.empty() ? path_ : really_).c_str()) != 0)
    fail(std::strerror(errno));
  beside_.clear();
  if (close(file_.release()) != 0) fail(std::strerror(errno));
}

void write_output_file(const std::string& path, std::string_view text) {
  output_file file(path);
  file.write(text);
  file.finish();
}

}  // namespace tri::os
