#include "config/option_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "config/suggestion.hpp"
#include "os/cpu/cpu_list.hpp"

namespace tri::config {
namespace {

constexpr std::array<std::string_view, 4> words_of_on{"on", "true", "yes", "1"};
constexpr std::array<std::string_view, 4> words_of_off{"off", "false", "no", "0"};

template <class Words>
bool contains(const Words& words, std::string_view text) {
  for (std::string_view word : words)
    if (word == text) return true;
  return false;
}

[[noreturn]] void refuse(const allowed_values& allowed) { throw std::invalid_argument("it must be " + allowed.text); }

template <class Integer>
void check_integer(Integer value, const allowed_values& allowed) {
  const double number = static_cast<double>(value);
  if (number < allowed.lowest || number > allowed.highest) refuse(allowed);
  if (allowed.power_of_two && !std::has_single_bit(static_cast<std::uint64_t>(value))) refuse(allowed);
}

int binary_exponent_of_suffix(char suffix) {
  switch (suffix) {
    case 'K':
    case 'k':
      return 10;
    case 'M':
    case 'm':
      return 20;
    case 'G':
    case 'g':
      return 30;
    case 'T':
    case 't':
      return 40;
    default:
      return 0;
  }
}

}  // namespace

allowed_values anything(std::string text) {
  allowed_values allowed;
  allowed.text = std::move(text);
  return allowed;
}

allowed_values cpus_or_words(std::string text) {
  allowed_values allowed = anything(std::move(text));
  allowed.check = [](std::string_view value) {
    if (value == "auto" || value == "none") return;
    try {
      os::parse_cpu_list(value);
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument(fmt::format("{}; or write auto or none", problem.what()));
    }
  };
  return allowed;
}

allowed_values between(double lowest, double highest) {
  allowed_values allowed = anything(fmt::format("{} .. {}", write_number(lowest), write_number(highest)));
  allowed.lowest = lowest;
  allowed.highest = highest;
  return allowed;
}

allowed_values at_least(double lowest) {
  allowed_values allowed = anything(fmt::format("at least {}", write_number(lowest)));
  allowed.lowest = lowest;
  return allowed;
}

allowed_values power_of_two_between(double lowest, double highest) {
  allowed_values allowed = between(lowest, highest);
  allowed.text = "a power of two in " + allowed.text;
  allowed.power_of_two = true;
  return allowed;
}

allowed_values one_of(std::string_view names) {
  allowed_values allowed;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('|', begin), names.size());
    allowed.names.emplace_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  allowed.text = fmt::format("one of {}", fmt::join(allowed.names, ", "));
  return allowed;
}

allowed_values on_or_off() { return anything("on or off"); }

bool is_bool_word(std::string_view text) { return contains(words_of_on, text) || contains(words_of_off, text); }

std::int64_t read_integer(std::string_view text, const allowed_values& allowed) {
  int value = 0;  // the options of this kind are ints
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(fmt::format("it must be a whole number, {}", allowed.text));
  }
  check_integer(value, allowed);
  return value;
}

std::uint64_t read_size(std::string_view text, const allowed_values& allowed) {
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, value);
  int exponent = 0;
  if (error == std::errc() && end != last) {
    exponent = binary_exponent_of_suffix(*end);
    if (exponent != 0) ++end;
    if (exponent != 0 && end != last && (*end == 'B' || *end == 'b')) ++end;
  }
  if (error != std::errc() || end != last || value > (std::numeric_limits<std::uint64_t>::max() >> exponent)) {
    throw std::invalid_argument(fmt::format("it must be a size such as 4096, 64K, 16M or 2G{}{}",
                                            allowed.text == "a size" ? "" : ", ",
                                            allowed.text == "a size" ? "" : allowed.text));
  }
  value <<= exponent;
  check_integer(value, allowed);
  return value;
}

double read_number(std::string_view text, const allowed_values& allowed) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    throw std::invalid_argument(fmt::format("it must be a number, {}", allowed.text));
  }
  if (value < allowed.lowest || value > allowed.highest) refuse(allowed);
  return value;
}

bool read_bool(std::string_view text, const allowed_values& allowed) {
  if (!is_bool_word(text)) refuse(allowed);
  return contains(words_of_on, text);
}

int read_name(std::string_view text, const allowed_values& allowed) {
  for (std::size_t i = 0; i < allowed.names.size(); ++i)
    if (allowed.names[i] == text) return static_cast<int>(i);
  throw std::invalid_argument(fmt::format("it must be {}{}", allowed.text, did_you_mean(text, allowed.names)));
}

std::string write_size(std::uint64_t bytes) {
  for (char suffix : {'T', 'G', 'M', 'K'}) {
    const std::uint64_t unit = std::uint64_t{1} << binary_exponent_of_suffix(suffix);
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, suffix);
  }
  return std::to_string(bytes);
}

std::string write_number(double value) { return fmt::format("{}", value); }

}  // namespace tri::config
