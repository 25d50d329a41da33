#include "framework/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tri::bench {

progress_line::progress_line(std::size_t rows) : rows_(rows), terminal_(isatty(STDERR_FILENO) != 0) {}

void progress_line::show(const std::string& row) {
  ++shown_;
  if (!terminal_) return;
  fmt::print(stderr, "\r\033[K[{}/{}] {}", shown_, rows_, row);
  std::fflush(stderr);
}

void progress_line::clear() {
  if (!terminal_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace tri::bench
