// The words of a source text, each with its place in the file. Comments and blanks are not tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "omp_rewrite/mapped_text.hpp"

namespace tri::tools {

enum class token_kind : std::uint8_t { identifier, number, string, character, punctuation };

struct token {
  token_kind kind = token_kind::punctuation;
  std::string text;
  std::size_t begin = 0;  // in the mapped text it was read from
  std::size_t end = 0;
  std::size_t first = 0;  // in the file; [first, last) may contain more than the text: splices, escapes
  std::size_t last = 0;
  bool begins_line = false;  // the first of a logical line
  std::string macro;         // the macro whose expansion it comes from; `first` and `last` are then those of its use

  bool is(const char* what) const { return text == what; }
};

/// The part [begin, end) of the text as a token.
token make_token(const mapped_text& text, std::size_t begin, std::size_t end, token_kind kind);

/// Tokens of C and C++, of preprocessor lines too. Never fails: a literal that is not closed ends with its line.
std::vector<token> c_tokens(const mapped_text& text);

/// The text between the quotes of a string literal without encoding prefix, its escapes \" and \\ resolved as _Pragma
/// does it. `literal` must come from `text`.
mapped_text contents_of(const mapped_text& text, const token& literal);

}  // namespace tri::tools
