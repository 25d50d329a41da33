// Reading and writing the values of options: one small struct of functions per kind of value. Used by the
// configuration table only. A value that cannot be read is an std::invalid_argument whose text says what would be
// right.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tri::config {

// What a row of the table allows, and how that reads in a message ("1 .. 4096", "a power of two in 16 .. 65536").
struct allowed_values {
  std::string text;
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool power_of_two = false;
  std::vector<std::string> names;                  // of an enumeration, in the order of its values from 0
  void (*check)(std::string_view text) = nullptr;  // of a text that is not free: throws std::invalid_argument
};
allowed_values anything(std::string text);
allowed_values cpus_or_words(std::string text);  // auto, none or what parse_cpu_list() reads
allowed_values between(double lowest, double highest);
allowed_values at_least(double lowest);
allowed_values power_of_two_between(double lowest, double highest);
allowed_values one_of(std::string_view names_separated_by_bars);
allowed_values on_or_off();

// True for on/off, true/false, yes/no, 1/0.
bool is_bool_word(std::string_view text);

std::int64_t read_integer(std::string_view text, const allowed_values& allowed);
std::uint64_t read_size(std::string_view text,
                        const allowed_values& allowed);  // with optional suffix K, M, G or T (powers of 1024)
double read_number(std::string_view text, const allowed_values& allowed);
bool read_bool(std::string_view text, const allowed_values& allowed);
int read_name(std::string_view text, const allowed_values& allowed);  // index in allowed.names

std::string write_size(std::uint64_t bytes);  // 4096 -> "4K"; not a multiple of 1024 -> the plain number
std::string write_number(double value);

// The kind of an option follows from the type of its member: std::size_t is a size, an enum is one of its names.
template <class T>
struct option_value {
  static_assert(std::is_enum_v<T>, "an option is an int, std::size_t, double, bool, std::string or an enum");
  static constexpr const char* kind = "name";
  static T read(std::string_view text, const allowed_values& allowed) {
    return static_cast<T>(read_name(text, allowed));
  }
  static std::string write(T value, const allowed_values& allowed) {
    return allowed.names.at(static_cast<std::size_t>(value));
  }
};
template <>
struct option_value<int> {
  static constexpr const char* kind = "integer";
  static int read(std::string_view text, const allowed_values& allowed) {
    return static_cast<int>(read_integer(text, allowed));
  }
  static std::string write(int value, const allowed_values&) { return std::to_string(value); }
};
template <>
struct option_value<std::size_t> {
  static constexpr const char* kind = "size";
  static std::size_t read(std::string_view text, const allowed_values& allowed) { return read_size(text, allowed); }
  static std::string write(std::size_t value, const allowed_values&) { return write_size(value); }
};
template <>
struct option_value<double> {
  static constexpr const char* kind = "number";
  static double read(std::string_view text, const allowed_values& allowed) { return read_number(text, allowed); }
  static std::string write(double value, const allowed_values&) { return write_number(value); }
};
template <>
struct option_value<bool> {
  static constexpr const char* kind = "switch";
  static bool read(std::string_view text, const allowed_values& allowed) { return read_bool(text, allowed); }
  static std::string write(bool value, const allowed_values&) { return value ? "on" : "off"; }
};
template <>
struct option_value<std::string> {
  static constexpr const char* kind = "text";
  static std::string read(std::string_view text, const allowed_values& allowed) {
    if (allowed.check != nullptr) allowed.check(text);
    return std::string(text);
  }
  static std::string write(const std::string& value, const allowed_values&) { return value; }
};

}  // namespace tri::config
