#include "os/text_pattern.hpp"

#include <regex.h>

#include <array>
#include <stdexcept>

namespace tri::os {

struct text_pattern::compiled {
  explicit compiled(const std::string& expression) {
    const int error = regcomp(&pattern, expression.c_str(), REG_EXTENDED | REG_NOSUB);
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

}  // namespace tri::os
