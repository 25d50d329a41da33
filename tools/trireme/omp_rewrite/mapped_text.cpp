#include "omp_rewrite/mapped_text.hpp"

namespace tri::tools {

mapped_text without_splices(std::string_view source) {
  mapped_text result;
  for (std::size_t at = 0; at < source.size();) {
    if (source[at] == '\\') {
      std::size_t end = source.find_first_not_of(" \t", at + 1);
      if (end != std::string_view::npos && source[end] == '\r') ++end;
      if (end != std::string_view::npos && end < source.size() && source[end] == '\n') {
        at = end + 1;
        continue;
      }
    }
    result.add(source[at], at);
    ++at;
  }
  return result;
}

line_table::line_table(std::string_view source) : source_(source), size_(source.size()) {
  begins_.push_back(0);
  for (std::size_t at = 0; at + 1 < source.size(); ++at)
    if (source[at] == '\n') begins_.push_back(at + 1);
}

std::string_view line_table::text_of(std::size_t line) const {
  std::string_view text = source_.substr(begins_[line], end_of(line) - begins_[line]);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace tri::tools
