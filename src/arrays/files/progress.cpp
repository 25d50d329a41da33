#include "arrays/files/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "os/clock.hpp"
#include "trireme/run.hpp"

namespace tri::arrays {
namespace {

constexpr std::int64_t first_after_ns = 1'000'000'000;
constexpr std::int64_t between_ns = 200'000'000;

}  // namespace

progress_of_file::progress_of_file(const char* verb, std::string path, progress_line when, std::int64_t steps)
    : text_(fmt::format("{} {}", verb, std::move(path))),
      shows_(this_pe() == 0 && when != progress_line::never &&
             (when == progress_line::always || isatty(STDERR_FILENO) == 1)),
      waits_(when == progress_line::on_terminals),
      steps_(std::max<std::int64_t>(steps, 1)) {
  if (shows_ && waits_) next_ns_ = os::now_ns() + first_after_ns;
}

void progress_of_file::step() {
  ++done_;
  if (!shows_) return;
  if (waits_) {
    const std::int64_t now = os::now_ns();
    if (now < next_ns_) return;
    next_ns_ = now + between_ns;
  }
  fmt::print(stderr, "\r{}: {:3} %", text_, 100 * done_ / steps_);
  has_shown_ = true;
}

progress_of_file::~progress_of_file() {
  if (!has_shown_) return;
  if (waits_)
    fmt::print(stderr, "\r{:{}}\r", "", text_.size() + 7);
  else
    fmt::print(stderr, "\n");
}

}  // namespace tri::arrays
