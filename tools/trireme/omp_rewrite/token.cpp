#include "omp_rewrite/token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tri::tools {
namespace {

bool begins_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;  // parts of letters beyond ASCII
}
bool in_identifier(char c) { return begins_identifier(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class c_reader {
 public:
  explicit c_reader(const mapped_text& text) : text_(text), source_(text.text()) {}

  std::vector<token> all() {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (source_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
    while (at_ < source_.size()) step();
    return std::move(tokens_);
  }

 private:
  char next(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  void add(std::size_t end, token_kind kind) {
    tokens_.push_back(make_token(text_, at_, end, kind));
    tokens_.back().begins_line = new_line_;
    new_line_ = false;
    at_ = end;
  }

  void step() {
    const char c = next();
    if (c == '\n') {
      new_line_ = true;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
      ++at_;
    } else if (c == '/' && next(1) == '/') {
      at_ = std::min(source_.find('\n', at_), source_.size());
    } else if (c == '/' && next(1) == '*') {
      // Line ends inside do not end a directive.
      const std::size_t end = source_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? source_.size() : end + 2;
    } else if (begins_identifier(c)) {
      identifier();
    } else if (is_digit(c) || (c == '.' && is_digit(next(1)))) {
      number();
    } else if (c == '"') {
      add(end_of_literal(at_, '"'), token_kind::string);
    } else if (c == '\'') {
      add(end_of_literal(at_, '\''), token_kind::character);
    } else if ((c == ':' && next(1) == ':') || (c == '#' && next(1) == '#')) {
      add(at_ + 2, token_kind::punctuation);
    } else {
      add(at_ + 1, token_kind::punctuation);
    }
  }

  void identifier() {
    std::size_t end = at_;
    while (end < source_.size() && in_identifier(source_[end])) ++end;
    const std::string_view word = source_.substr(at_, end - at_);
    const bool prefix = word == "L" || word == "u" || word == "U" || word == "u8";
    const bool raw = word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
    if (end < source_.size() && source_[end] == '"' && raw) {
      add(end_of_raw(end), token_kind::string);
    } else if (end < source_.size() && source_[end] == '"' && prefix) {
      add(end_of_literal(end, '"'), token_kind::string);
    } else if (end < source_.size() && source_[end] == '\'' && prefix) {
      add(end_of_literal(end, '\''), token_kind::character);
    } else {
      add(end, token_kind::identifier);
    }
  }

  void number() {
    std::size_t end = at_ + 1;
    while (end < source_.size()) {
      const char c = source_[end];
      const char before = source_[end - 1];
      const bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      const bool separator = c == '\'' && end + 1 < source_.size() && in_identifier(source_[end + 1]);
      if (!in_identifier(c) && c != '.' && !(exponent && (c == '+' || c == '-')) && !separator) break;
      ++end;
    }
    add(end, token_kind::number);
  }

  std::size_t end_of_literal(std::size_t quote, char mark) const {
    for (std::size_t at = quote + 1; at < source_.size(); ++at) {
      if (source_[at] == '\n') return at;
      if (source_[at] == '\\') {
        ++at;
      } else if (source_[at] == mark) {
        return at + 1;
      }
    }
    return source_.size();
  }

  std::size_t end_of_raw(std::size_t quote) const {
    const std::size_t bracket = source_.find('(', quote);
    if (bracket == std::string_view::npos) return source_.size();
    const std::string end = fmt::format("){}\"", source_.substr(quote + 1, bracket - quote - 1));
    const std::size_t found = source_.find(end, bracket);
    return found == std::string_view::npos ? source_.size() : found + end.size();
  }

  const mapped_text& text_;
  std::string_view source_;
  std::size_t at_ = 0;
  bool new_line_ = true;
  std::vector<token> tokens_;
};

}  // namespace

token make_token(const mapped_text& text, std::size_t begin, std::size_t end, token_kind kind) {
  token result;
  result.kind = kind;
  result.text = text.text().substr(begin, end - begin);
  result.begin = begin;
  result.end = end;
  result.first = text.offset_of(begin);
  result.last = text.offset_behind(end);
  return result;
}

std::vector<token> c_tokens(const mapped_text& text) { return c_reader(text).all(); }

mapped_text contents_of(const mapped_text& text, const token& literal) {
  mapped_text result;
  for (std::size_t at = literal.begin + 1; at + 1 < literal.end; ++at) {
    if (text[at] == '\\' && at + 2 < literal.end && (text[at + 1] == '"' || text[at + 1] == '\\')) ++at;
    result.add(text[at], text.offset_of(at));
  }
  return result;
}

}  // namespace tri::tools
