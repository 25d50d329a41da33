// An extended regular expression of POSIX (regex(7)). <regex> would cost each file that includes it ten seconds of
// compilation. A value; any thread may search at any time.
#pragma once

#include <memory>
#include <string>

namespace tri::os {

class text_pattern {
 public:
  /// Throws std::invalid_argument with what the C library finds wrong.
  explicit text_pattern(const std::string& expression);

  /// Whether some part of `text` matches.
  bool is_found_in(const std::string& text) const;

 private:
  struct compiled;
  std::shared_ptr<const compiled> compiled_;
};

}  // namespace tri::os
