// Names of types and methods for error messages, extracted from the compiler's names.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace tri::objects {
namespace detail {

template <class T>
constexpr std::string_view pretty_type() {
  return __PRETTY_FUNCTION__;
}
template <auto Value>
constexpr std::string_view pretty_value() {
  return __PRETTY_FUNCTION__;
}
// "... [with T = X; ...]" (g++) or "... [T = X]" (clang) to "X".
constexpr std::string_view after_equals(std::string_view pretty) {
  const auto open = pretty.rfind('[');
  const auto first = pretty.find("= ", open == std::string_view::npos ? 0 : open) + 2;
  const auto end = pretty.find(';', first);
  return pretty.substr(first, (end == std::string_view::npos ? pretty.size() - 1 : end) - first);
}

}  // namespace detail

/// The name of a type, e.g. "std::vector<int>".
template <class T>
std::string type_name() {
  return std::string(detail::after_equals(detail::pretty_type<T>()));
}

/// The name of a method from its pointer, e.g. "Cell::ghost".
template <auto Method>
std::string method_name() {
  std::string name(detail::after_equals(detail::pretty_value<Method>()));
  if (!name.empty() && name.front() == '(') name = name.substr(1, name.rfind(')') - 1);  // g++: "(& Cell::ghost)"
  if (const auto start = name.find_first_not_of("& "); start != std::string::npos) name = name.substr(start);
  return name;
}

}  // namespace tri::objects

#pragma GCC visibility pop
