#include "checkpoint/kept_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "checkpoint/manifest.hpp"

namespace tri::checkpoint_files {

kept_memory::kept_memory(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {
  struct stat entry {};
  if (!file_ || fstat(file_.get(), &entry) != 0) fail(errno);
  if (!S_ISREG(entry.st_mode)) throw checkpoint_error(fmt::format("{}: is not a regular file", path_));
  if (entry.st_size != 0) grow(static_cast<std::size_t>(entry.st_size));
}

kept_memory::~kept_memory() {
  if (bytes_ != nullptr) munmap(bytes_, mapped_);
}

void kept_memory::fail(int error) const {
  throw checkpoint_error(fmt::format("{}: cannot be written: {}", path_, std::strerror(error)));
}

void kept_memory::put(std::size_t offset, const void* bytes, std::size_t count) {
  if (count == 0) return;
  if (offset + count > capacity_) grow(offset + count);
  std::memcpy(bytes_ + offset, bytes, count);
  size_ = std::max(size_, offset + count);
}

char* kept_memory::room(std::size_t offset, std::size_t least) {
  if (offset + least > capacity_) grow(offset + least);
  return bytes_ + offset;
}

// By an eighth at least: what it has too much for a moment goes with finish().
void kept_memory::grow(std::size_t least) {
  constexpr std::size_t step = std::size_t{1} << 20;
  const std::size_t wanted = std::max(least, capacity_ == 0 ? least : capacity_ + capacity_ / 8 + step);
  int error = 0;
  while ((error = posix_fallocate(file_.get(), 0, static_cast<off_t>(wanted))) == EINTR) {
  }
  if (error != 0) fail(error);
  if (wanted > mapped_) {
    void* const larger = bytes_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0)
                                           : mremap(bytes_, mapped_, wanted, MREMAP_MAYMOVE);
    if (larger == MAP_FAILED) fail(errno);
    bytes_ = static_cast<char*>(larger);
    mapped_ = wanted;
  }
  capacity_ = wanted;
}

void kept_memory::finish() {
  if (size_ == capacity_) return;
  if (ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) fail(errno);
  capacity_ = size_;
}

}  // namespace tri::checkpoint_files
