#include "arrays/files/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "arrays/files/element_text.hpp"

namespace tri::arrays {
namespace {

constexpr std::string_view mark = "# trireme array: ";
constexpr std::size_t bytes_of_block = 1 << 16;
constexpr std::size_t longest_word = 1 << 10;

bool is_space(char sign) { return sign == ' ' || ('\t' <= sign && sign <= '\r'); }

std::string_view next_field(std::string_view& line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

void parse_our_line(std::string_view line, text_contents& found) {
  found.has_header = true;
  std::string_view fields = line.substr(mark.size());
  bool is_right = find_type(next_field(fields), found.type);
  for (std::string_view field = next_field(fields); is_right && !field.empty(); field = next_field(fields)) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), extent);
    is_right = error == std::errc() && end == field.data() + field.size() && extent >= 0;
    found.extents.push_back(extent);
  }
  if (!is_right || found.extents.empty())
    throw std::runtime_error(
        fmt::format("its line '{}' is wrong; right is for example '{}float64 3 4'", line.substr(0, 100), mark));
}

}  // namespace

std::string text_header(const array_in_file& array) {
  std::string line(mark);
  line += name_of(array.type);
  for (int d = 0; d < array.dimensions; ++d) line += fmt::format(" {}", array.extents[static_cast<std::size_t>(d)]);
  return line + '\n';
}

text_contents parse_text_header(std::string_view beginning) {
  text_contents found;
  std::string_view left = beginning;
  while (left.starts_with('#')) {
    const std::size_t end = left.find('\n');
    std::string_view line = left.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(mark)) parse_our_line(line, found);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
  }
  found.data_begins = static_cast<std::int64_t>(beginning.size() - left.size());
  return found;
}

std::string text_of_elements(const array_in_file& array, std::int64_t number, std::span<const std::byte> elements) {
  const auto extent = [&](int from_last) {
    return array.extents[static_cast<std::size_t>(array.dimensions - from_last)];
  };
  const std::int64_t row = array.dimensions > 1 ? extent(1) : 1;
  const std::int64_t plane = array.dimensions > 2 ? extent(1) * extent(2) : 0;
  std::string text;
  for (std::size_t at = 0; at < elements.size(); at += array.type.bytes, ++number) {
    const bool begins_row = number % row == 0;
    if (plane != 0 && number != 0 && number % plane == 0) text += '\n';
    if (!begins_row) text += ' ';
    append_number(text, array.type, elements.data() + at);
    if ((number + 1) % row == 0) text += '\n';
  }
  return text;
}

word_reader::word_reader(const shared_file& file, std::int64_t first_byte, std::int64_t begin, std::int64_t end)
    : file_(file), end_(end), block_begins_(begin) {
  if (begin <= first_byte) return;
  --block_begins_;  // a word that goes on over the border is of the part before
  while (has_byte() && !is_space(block_[cursor_])) ++cursor_;
}

// The byte at the cursor, if the file has it; the last word stays in the block.
bool word_reader::has_byte() {
  if (cursor_ < block_.size()) return true;
  const std::size_t kept = std::min(block_.size(), longest_word + 1);
  block_begins_ += static_cast<std::int64_t>(block_.size() - kept);
  block_.erase(0, block_.size() - kept);
  block_.resize(kept + bytes_of_block);
  const std::size_t come = file_.read_some(block_begins_ + static_cast<std::int64_t>(kept),
                                           std::as_writable_bytes(std::span(block_.data() + kept, bytes_of_block)));
  block_.resize(kept + come);
  cursor_ = kept;
  return come > 0;
}

bool word_reader::next(std::string_view& word) {
  while (has_byte() && is_space(block_[cursor_])) ++cursor_;
  at_ = block_begins_ + static_cast<std::int64_t>(cursor_);
  if (at_ >= end_ || !has_byte()) return false;
  std::size_t length = 0;
  while (has_byte() && !is_space(block_[cursor_])) {
    ++cursor_;
    if (++length > longest_word)
      file_.fail(fmt::format("what begins at byte {} is longer than {} bytes, so it is no number", at_, longest_word));
  }
  word = std::string_view(block_).substr(cursor_ - length, length);
  return true;
}

}  // namespace tri::arrays
