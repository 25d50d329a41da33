#include "trace/recorder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tri::trace {

recorder::recorder(std::string path, const std::string& description, std::size_t records, std::uint64_t slow_ticks)
    : path_(std::move(path)),
      slow_ticks_(slow_ticks),
      file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)),
      buffer_(std::max<std::size_t>(records, 4)) {
  if (file_.get() < 0)
    throw std::runtime_error(fmt::format("cannot write the trace {}: {}", path_, std::strerror(errno)));
  std::string text = description;
  text.resize((text.size() + sizeof(record) - 1) / sizeof(record) * sizeof(record), ' ');
  file_head head{};
  std::memcpy(head.magic, format_magic, sizeof head.magic);
  head.version = format_version;
  head.description_bytes = static_cast<std::uint32_t>(text.size());
  if (!write(&head, sizeof head) || !write(text.data(), text.size()))
    throw std::runtime_error(fmt::format("cannot write the trace {}: {}", path_, std::strerror(errno)));
  note_clock();
}

bool recorder::write(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const char*>(bytes);
  while (size != 0) {
    const ssize_t done = ::write(file_.get(), from, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    from += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

void recorder::note_clock() {
  const os::clock_pair both = os::both_clocks();
  add({.ticks = both.tick, .number = static_cast<std::uint64_t>(both.ns), .what = event::clock});
}

void recorder::slow(std::uint32_t handler, std::uint64_t taken, std::uint64_t now) {
  slow_ticks_reported_ += taken;
  add({.ticks = now, .number = taken, .handler = handler, .what = event::slow});
}

void recorder::write_out() {
  const std::uint64_t before = os::ticks();
  const std::size_t records = std::exchange(used_, 0);
  if (file_.get() < 0) return;  // a write failed before: events are dropped
  if (!write(buffer_.data(), records * sizeof(record))) {
    std::fprintf(stderr, "trireme: cannot write the trace %s: %s; it ends here\n", path_.c_str(), std::strerror(errno));
    file_ = os::unique_fd();
    return;
  }
  note_clock();
  const std::uint64_t now = os::ticks();
  add({.ticks = now, .number = now - before, .what = event::written});
}

void recorder::close() {
  if (file_.get() < 0) return;
  note_clock();
  const std::size_t records = std::exchange(used_, 0);
  if (!write(buffer_.data(), records * sizeof(record)))
    std::fprintf(stderr, "trireme: cannot write the trace %s: %s\n", path_.c_str(), std::strerror(errno));
  file_ = os::unique_fd();
}

}  // namespace tri::trace
