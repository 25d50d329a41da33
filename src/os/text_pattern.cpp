#include "os/text_pattern.hpp"

#include <regex.h>

#include <array>
#include <stdexcept>

namespace tri::os {

struct text_pattern::compiled {
  explicit compiled(const std::string& expression) {
    const int error = regcomp(&pattern, expression.c_str(), REG_EXTENDED);
    if (error == 0) return;
    std::array<char, 200> why{};
    regerror(error, &pattern, why.data(), why.size());
    throw std::invalid_argument(why.data());  // a pattern that was not compiled has nothing to free
  }
  ~compiled() { regfree(&pattern); }
  compiled(const compiled&) = delete;
  compiled& operator=(const compiled&) = delete;

  regex_t pattern{};
};

text_pattern::text_pattern(const std::string& expression) : compiled_(std::make_shared<const compiled>(expression)) {}

bool text_pattern::is_found_in(const std::string& text) const {
  return regexec(&compiled_->pattern, text.c_str(), 0, nullptr, 0) == 0;
}

std::optional<std::string> text_pattern::first_group(const std::string& text) const {
  std::array<regmatch_t, 2> found{};
  if (regexec(&compiled_->pattern, text.c_str(), found.size(), found.data(), 0) != 0) return std::nullopt;
  const regmatch_t& part = compiled_->pattern.re_nsub > 0 ? found[1] : found[0];
  if (part.rm_so < 0) return std::nullopt;
  return text.substr(static_cast<std::size_t>(part.rm_so), static_cast<std::size_t>(part.rm_eo - part.rm_so));
}

}  // namespace tri::os
