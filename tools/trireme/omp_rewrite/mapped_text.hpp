// Text taken out of a source file with, for every character, its position in the file. Line splices, blanks or the
// escapes of a string literal are left out, so a directive can be read as the compiler reads it and still be edited
// where it was written. Plain values; one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tri::tools {

class mapped_text {
 public:
  void add(char character, std::size_t offset) {
    text_ += character;
    offsets_.push_back(offset);
  }
  const std::string& text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  char operator[](std::size_t index) const { return text_[index]; }

  /// The character's position in the file.
  std::size_t offset_of(std::size_t index) const { return offsets_[index]; }
  /// Behind the character before `index` > 0.
  std::size_t offset_behind(std::size_t index) const { return offsets_[index - 1] + 1; }

 private:
  std::string text_;
  std::vector<std::size_t> offsets_;
};

/// A C source as after translation phase 2: a backslash at the end of a line (blanks behind it are forgiven, as gcc
/// does) joins the next line.
mapped_text without_splices(std::string_view source);

/// The lines of a file.
class line_table {
 public:
  explicit line_table(std::string_view source);
  /// Which line the character at `offset` is in, from 0; the end of the file is in the last line.
  std::size_t line_of(std::size_t offset) const {
    return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), offset) - begins_.begin()) - 1;
  }
  std::size_t count() const { return begins_.size(); }
  std::size_t begin_of(std::size_t line) const { return begins_[line]; }
  /// Behind the line and its line end.
  std::size_t end_of(std::size_t line) const { return line + 1 < begins_.size() ? begins_[line + 1] : size_; }
  /// Without its line end.
  std::string_view text_of(std::size_t line) const;

 private:
  std::string_view source_;  // the caller keeps it
  std::size_t size_;
  std::vector<std::size_t> begins_;
};

}  // namespace tri::tools
