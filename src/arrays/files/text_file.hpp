// Arrays as text: a line of our own with type and extents, then numbers between spaces and line ends, one row of the
// last dimension on a line and an empty line between planes. Without that line it is any table of numbers, such as
// numpy.savetxt writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arrays/files/progress.hpp"
#include "arrays/files/shared_file.hpp"
#include "trireme/detail/arrays/array_in_file.hpp"

namespace tri::arrays {

inline constexpr std::size_t most_bytes_of_text_header = 1 << 16;

std::string text_header(const array_in_file& array);

struct text_contents {
  bool has_header = false;  // false: type and extents are not known
  element_type type;
  std::vector<std::int64_t> extents;
  std::int64_t data_begins = 0;
};
/// Throws std::runtime_error: our line is there, and wrong.
text_contents parse_text_header(std::string_view beginning);

/// Elements `number`, ... of the array, with what stands between them.
std::string text_of_elements(const array_in_file& array, std::int64_t number, std::span<const std::byte> elements);

/// The words of a file that begin in bytes begin..end, one after the other. What begins before `begin` is left to the
/// reader of the part before; `first_byte`: no word begins before it.
class word_reader {
 public:
  word_reader(const shared_file& file, std::int64_t first_byte, std::int64_t begin, std::int64_t end);
  /// False: there is no more. The word is valid until the next call.
  bool next(std::string_view& word);
  /// Of the last word, in the file.
  std::int64_t at() const { return at_; }

 private:
  bool has_byte();
  const shared_file& file_;
  std::int64_t end_;
  std::int64_t block_begins_;
  std::string block_;
  std::size_t cursor_ = 0;
  std::int64_t at_ = 0;
};

}  // namespace tri::arrays
