// A check for options of programs: an integer or a finite number of a range.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

namespace apps {

/// The message names the value and what would be right.
template <class T>
CLI::Validator from_to(T least, T most) {
  return {[least, most](std::string& text) {
            T value{};
            if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return std::string();
            return fmt::format("'{}' is not possible; expected {} from {} to {}", text,
                               std::is_integral_v<T> ? "an integer" : "a number", least, most);
          },
          ""};
}

}  // namespace apps
