// Checks for whole programs, where GoogleTest's macros cannot end the job: a failed check throws, the exception ends
// the program with the place and the values. Header only, any thread.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace tri::testing {

[[noreturn]] inline void failed(const std::string& what, const std::source_location& where) {
  throw std::runtime_error(fmt::format("check failed at {}:{}: {}", where.file_name(), where.line(), what));
}

inline void check(bool holds, const std::string& what,
                  const std::source_location& where = std::source_location::current()) {
  if (!holds) failed(what, where);
}

template <class A, class B>
void check_equal(const A& found, const B& expected,
                 const std::source_location& where = std::source_location::current()) {
  if (found == expected) return;
  if constexpr (fmt::is_formattable<A>::value && fmt::is_formattable<B>::value)
    failed(fmt::format("found {}, expected {}", found, expected), where);
  else
    failed("values differ", where);
}

/// Runs `action` and demands that it throws an exception of type E whose text contains `text`.
template <class E, class Action>
void check_throws(Action&& action, const std::string& text,
                  const std::source_location& where = std::source_location::current()) {
  try {
    action();
  } catch (const E& error) {
    if (std::string(error.what()).find(text) == std::string::npos)
      failed(fmt::format("threw '{}', which does not contain '{}'", error.what(), text), where);
    return;
  }
  failed(fmt::format("nothing was thrown; expected '{}'", text), where);
}

}  // namespace tri::testing
