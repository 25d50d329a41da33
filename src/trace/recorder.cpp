#include "trace/recorder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
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
      buffer_(std::max<std::size_t>(records, 4 + records_of_name(most_name_bytes))) {
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

std::uint32_t recorder::number_of(std::string_view name) {
  name = name.substr(0, most_name_bytes);
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.emplace(name, number);
  const std::size_t records = records_of_name(static_cast<std::uint32_t>(name.size()));
  if (used_ + 1 + records > buffer_.size()) write_out();  // the text directly follows its record
  add({.ticks = os::ticks(), .bytes = static_cast<std::uint32_t>(name.size()), .handler = number, .what = event::name});
  for (std::size_t i = 0; i < records; ++i) {
    record text{};
    const std::string_view part = name.substr(i * sizeof(record), sizeof(record));
    std::memcpy(static_cast<void*>(&text), part.data(), part.size());
    add(text);
  }
  return number;
}

void recorder::mark_of_program(event what, std::string_view name, double value) {
  const std::uint32_t number = number_of(name);
  idle_ = false;
  add({.ticks = os::ticks(), .number = std::bit_cast<std::uint64_t>(value), .handler = number, .what = what});
}

void recorder::balanced(std::uint32_t step, std::uint32_t pe, std::uint64_t load_ns, std::uint64_t expected_ns) {
  const std::uint64_t now = os::ticks();
  add({.ticks = now, .number = load_ns, .bytes = pe, .peer = step, .what = event::load});
  add({.ticks = now, .number = expected_ns, .bytes = pe, .peer = step, .what = event::expected});
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
