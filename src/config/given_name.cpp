#include "config/given_name.hpp"

#include <algorithm>

namespace tri::config {

// Not by the functions of <cctype>: those depend on the locale of the program.
bool can_be_a_name(std::string_view word) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !word.empty() && is_letter(word.front()) && std::all_of(word.begin(), word.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace tri::config
