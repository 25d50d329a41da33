#include "arrays/files/element_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace tri::arrays {
namespace {

// NOLINTBEGIN(bugprone-branch-clone): the types differ
/// Calls use(T()) with a value of the C++ type; false: there is none.
template <class Use>
bool with_type_of(element_type type, Use&& use) {
  switch (type.kind) {
    case element_kind::boolean:
      return type.bytes == sizeof(bool) && use(bool());
    case element_kind::signed_integer:
      switch (type.bytes) {
        case 1:
          return use(std::int8_t());
        case 2:
          return use(std::int16_t());
        case 4:
          return use(std::int32_t());
        case 8:
          return use(std::int64_t());
        default:
          return false;
      }
    case element_kind::unsigned_integer:
      switch (type.bytes) {
        case 1:
          return use(std::uint8_t());
        case 2:
          return use(std::uint16_t());
        case 4:
          return use(std::uint32_t());
        case 8:
          return use(std::uint64_t());
        default:
          return false;
      }
    case element_kind::floating_point:
      if (type.bytes == sizeof(float)) return use(float());
      if (type.bytes == sizeof(double)) return use(double());
      return type.bytes == sizeof(long double) && use(static_cast<long double>(0));
    case element_kind::complex:
    case element_kind::bytes:
      return false;
  }
  return false;
}
// NOLINTEND(bugprone-branch-clone)

element_type part_of_complex(element_type type) { return {element_kind::floating_point, type.bytes / 2}; }

/// Between real and imaginary part: the last sign that is not of an exponent.
std::size_t imaginary_begins(std::string_view text) {
  for (std::size_t i = text.size(); i-- > 1;)
    if ((text[i] == '+' || text[i] == '-') && text[i - 1] != 'e' && text[i - 1] != 'E') return i;
  return 0;
}

bool parse_complex(std::string_view text, element_type type, std::byte* element) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  const element_type part = part_of_complex(type);
  std::memset(element, 0, type.bytes);
  if (!text.ends_with('j')) return parse_number(text, part, element);
  text.remove_suffix(1);
  const std::size_t behind = imaginary_begins(text);
  return (behind == 0 || parse_number(text.substr(0, behind), part, element)) &&
         parse_number(text.substr(behind), part, element + part.bytes);
}

}  // namespace

std::string name_of(element_type type) {
  switch (type.kind) {
    case element_kind::boolean:
      return "bool";
    case element_kind::signed_integer:
      return fmt::format("int{}", 8 * type.bytes);
    case element_kind::unsigned_integer:
      return fmt::format("uint{}", 8 * type.bytes);
    case element_kind::floating_point:
      return fmt::format("float{}", 8 * type.bytes);
    case element_kind::complex:
      return fmt::format("complex{}", 8 * type.bytes);
    case element_kind::bytes:
      break;
  }
  return fmt::format("plain data of {} bytes", type.bytes);
}

bool find_type(std::string_view name, element_type& type) {
  using enum element_kind;
  constexpr std::array known{
      element_type{boolean, 1},          element_type{signed_integer, 1},   element_type{signed_integer, 2},
      element_type{signed_integer, 4},   element_type{signed_integer, 8},   element_type{unsigned_integer, 1},
      element_type{unsigned_integer, 2}, element_type{unsigned_integer, 4}, element_type{unsigned_integer, 8},
      element_type{floating_point, 4},   element_type{floating_point, 8},   element_type{floating_point, 16},
      element_type{complex, 8},          element_type{complex, 16},         element_type{complex, 32}};
  for (const element_type each : known)
    if (name_of(each) == name) {
      type = each;
      return true;
    }
  return false;
}

bool has_text(element_type type) {
  if (type.kind == element_kind::complex) type = part_of_complex(type);
  return with_type_of(type, [](auto) { return true; });
}

void append_number(std::string& text, element_type type, const std::byte* element) {
  if (type.kind == element_kind::complex) {
    const element_type part = part_of_complex(type);
    append_number(text, part, element);
    const std::size_t sign = text.size();
    append_number(text, part, element + part.bytes);
    if (text[sign] != '-') text.insert(sign, 1, '+');
    text += 'j';
    return;
  }
  with_type_of(type, [&](auto value) {
    using number = decltype(value);
    std::memcpy(&value, element, sizeof(value));
    std::array<char, 64> digits{};
    std::to_chars_result end{};
    if constexpr (std::is_same_v<number, bool>)
      end = std::to_chars(digits.data(), digits.data() + digits.size(), value ? 1 : 0);
    else
      end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text.append(digits.data(), end.ptr);
    return true;
  });
}

bool parse_number(std::string_view text, element_type type, std::byte* element) {
  if (type.kind == element_kind::complex) return parse_complex(text, type, element);
  if (text.starts_with('+')) text.remove_prefix(1);
  return with_type_of(type, [&](auto value) {
    const char* const end = text.data() + text.size();
    if constexpr (std::is_same_v<decltype(value), bool>) {
      if (text != "0" && text != "1" && text != "True" && text != "False") return false;
      value = text == "1" || text == "True";
    } else {
      const auto [stop, error] = std::from_chars(text.data(), end, value);
      if (error != std::errc() || stop != end) return false;
    }
    std::memcpy(element, &value, sizeof(value));
    return true;
  });
}

}  // namespace tri::arrays
