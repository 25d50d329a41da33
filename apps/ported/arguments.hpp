// The command line of these programs: numbers, the word "verify", and --help, which lists what was asked for.
#pragma once

#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ported {

class arguments {
 public:
  /// A number that the program reads.
  struct number {
    std::string name;
    int otherwise, least, most;
  };

  arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view text = argv[i];
      if (text == "verify")
        verify_ = true;
      else if (text == "--help" || text == "-h")
        help_ = true;
      else
        numbers_.emplace_back(text);
    }
    if (help_) numbers_.clear();  // then all numbers are their defaults
  }
  bool verify() const { return verify_; }
  bool help() const { return help_; }
  /// The next number, or `otherwise` if there are no more. Throws std::invalid_argument, with a text for the user, for
  /// anything but an integer from `least` to `most`.
  int next(const char* name, int otherwise, int least, int most) {
    asked_.push_back({name, otherwise, least, most});
    if (next_ == numbers_.size()) return otherwise;
    const std::string& text = numbers_[next_++];
    int value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stopped != end || value < least || value > most)
      throw std::invalid_argument(std::string(name) + " is '" + text + "'; it must be an integer from " +
                                  std::to_string(least) + " to " + std::to_string(most));
    return value;
  }
  /// Throws std::invalid_argument if there are numbers left.
  void end() const {
    if (next_ < numbers_.size()) throw std::invalid_argument("'" + numbers_[next_] + "' is one argument too many");
  }
  /// All that next() was called for, in order.
  const std::vector<number>& asked() const { return asked_; }

 private:
  std::vector<std::string> numbers_;
  std::vector<number> asked_;
  std::size_t next_ = 0;
  bool verify_ = false;
  bool help_ = false;
};

}  // namespace ported
