// An extended regular expression of POSIX (regex(7)). <regex> would cost each file that includes it ten seconds of
// compilation. A value; any thread may search at any time.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace tri::os {

class text_pattern {
 public:
  /// Throws std::invalid_argument with what the C library finds wrong.
  explicit text_pattern(const std::string& expression);

  /// Whether some part of `text` matches.
  bool is_found_in(const std::string& text) const;

  /// What the first parenthesized group of the expression matches in the first part of `text` that matches, or all of
  /// that part where the expression has no group. Nothing without a match, or where the group takes no part in it.
  std::optional<std::string> first_group(const std::string& text) const;

 private:
  struct compiled;
  std::shared_ptr<const compiled> compiled_;
};

}  // namespace tri::os
