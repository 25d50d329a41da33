#include "arrays/files/npy_header.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <limits>
#include <stdexcept>

#include "arrays/files/element_text.hpp"

namespace tri::arrays {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr char native = std::endian::native == std::endian::little ? '<' : '>';

char letter_of(element_kind kind) {
  switch (kind) {
    case element_kind::boolean:
      return 'b';
    case element_kind::signed_integer:
      return 'i';
    case element_kind::unsigned_integer:
      return 'u';
    case element_kind::floating_point:
      return 'f';
    case element_kind::complex:
      return 'c';
    case element_kind::bytes:
      return 'V';
  }
  return 'V';
}

std::string description_of(element_type type) {
  const bool has_order = type.bytes > 1 && type.kind != element_kind::bytes;
  return fmt::format("{}{}{}", has_order ? native : '|', letter_of(type.kind), type.bytes);
}

[[noreturn]] void refuse_type(std::string_view description, const std::string& why) {
  throw std::runtime_error(fmt::format("its elements are of NumPy's type {}, {}", description, why));
}

element_type type_of(std::string_view description) {
  if (description.size() < 3) refuse_type(description, "which is none");
  const char order = description[0];
  element_type type;
  const std::string_view digits = description.substr(2);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), type.bytes);
  bool is_known = error == std::errc() && end == digits.data() + digits.size() && type.bytes > 0;
  if (is_known) {
    is_known = false;
    for (const element_kind kind : {element_kind::boolean, element_kind::signed_integer, element_kind::unsigned_integer,
                                    element_kind::floating_point, element_kind::complex, element_kind::bytes})
      if (letter_of(kind) == description[1]) {
        type.kind = kind;
        is_known = true;
      }
  }
  if (!is_known) refuse_type(description, "which is none of a global array");
  if (order != '|' && order != '=' && order != native && type.bytes > 1)
    refuse_type(description,
                fmt::format("whose bytes are in the other order: write it as '{}{}'", native, description.substr(1)));
  return type;
}

/// The dictionary of a header: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class dictionary {
 public:
  explicit dictionary(std::string_view text) : left_(text) {}
  npy_contents parse() {
    npy_contents found;
    bool has_type = false, has_order = false, has_shape = false;
    demand('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      demand(':');
      if (key == "descr") {
        skip_space();
        if (left_.starts_with('[')) throw std::runtime_error("its elements are structures of NumPy, of several fields");
        found.type = type_of(quoted());
        has_type = true;
      } else if (key == "fortran_order") {
        found.is_fortran_order = truth();
        has_order = true;
      } else if (key == "shape") {
        found.extents = shape();
        has_shape = true;
      } else {
        fail();
      }
      if (!accept(',')) {
        demand('}');
        break;
      }
    }
    skip_space();
    if (!left_.empty() || !has_type || !has_order || !has_shape) fail();
    return found;
  }

 private:
  [[noreturn]] static void fail() { throw std::runtime_error("its header is none of NumPy's"); }
  void skip_space() {
    while (!left_.empty() && (left_[0] == ' ' || left_[0] == '\n')) left_.remove_prefix(1);
  }
  bool accept(char sign) {
    skip_space();
    if (!left_.starts_with(sign)) return false;
    left_.remove_prefix(1);
    return true;
  }
  void demand(char sign) {
    if (!accept(sign)) fail();
  }
  std::string_view quoted() {
    skip_space();
    if (left_.empty() || (left_[0] != '\'' && left_[0] != '"')) fail();
    const std::size_t end = left_.find(left_[0], 1);
    if (end == std::string_view::npos) fail();
    const std::string_view text = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return text;
  }
  bool truth() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!left_.starts_with(word)) continue;
      left_.remove_prefix(word.size());
      return value;
    }
    fail();
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> extents;
    demand('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), extent);
      if (error != std::errc() || extent < 0) fail();
      left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
      extents.push_back(extent);
      if (!accept(',')) {
        demand(')');
        break;
      }
    }
    return extents;
  }
  std::string_view left_;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::string npy_header(const array_in_file& array) {
  std::string shape;
  for (int d = 0; d < array.dimensions; ++d)
    shape += fmt::format("{}{}", d == 0 ? "" : ", ", array.extents[static_cast<std::size_t>(d)]);
  if (array.dimensions == 1) shape += ',';
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", description_of(array.type), shape);
  constexpr std::size_t before = magic.size() + 4;
  constexpr std::size_t alignment = 64;  // of the elements, so that the file can be mapped
  text.append(alignment - 1 - (before + text.size()) % alignment, ' ');
  text += '\n';
  std::string header(magic);
  header += '\1';  // version 1.0
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

npy_contents parse_npy_header(std::string_view beginning) {
  if (!beginning.starts_with(magic)) throw std::runtime_error("it is no .npy file");
  if (beginning.size() < magic.size() + 6) throw std::runtime_error("it ends in its header");
  const int version = static_cast<unsigned char>(beginning[magic.size()]);
  if (version < 1 || version > 3)
    throw std::runtime_error(fmt::format("it is a .npy file of version {}; known: 1 to 3", version));
  const std::size_t bytes_of_length = version == 1 ? 2 : 4;
  const std::size_t before = magic.size() + 2 + bytes_of_length;
  const std::size_t length = little_endian(beginning.substr(magic.size() + 2, bytes_of_length));
  if (length > beginning.size() - before) throw std::runtime_error("it ends in its header");
  npy_contents found = dictionary(beginning.substr(before, length)).parse();
  found.data_begins = static_cast<std::int64_t>(before + length);
  return found;
}

}  // namespace tri::arrays
