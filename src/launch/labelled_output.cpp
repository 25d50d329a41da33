#include "launch/labelled_output.hpp"

#include <fmt/format.h>

#include <utility>

namespace tri::launch {
namespace {
constexpr std::size_t longest_line = 1 << 20;
}

labelled_output::labelled_output(int process) : label_(fmt::format("[{}] ", process)) {}

std::string labelled_output::add(std::string_view text) {
  std::string lines;
  waiting_ += text;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = waiting_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines += label_;
    lines.append(waiting_, begin, end + 1 - begin);
  }
  waiting_.erase(0, begin);
  if (waiting_.size() > longest_line) lines += finish();
  return lines;
}

std::string labelled_output::finish() {
  if (waiting_.empty()) return {};
  return label_ + std::exchange(waiting_, {}) + "\n";
}

}  // namespace tri::launch
