// Numbers of the command line.
#pragma once

#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>

namespace searches {

/// The argument number `which`, or `otherwise` if there are fewer. Throws std::invalid_argument, with a text for the
/// user, for anything but an integer from `least` to `most`.
inline int number_of(int argc, char** argv, int which, const char* name, int otherwise, int least, int most) {
  if (which >= argc) return otherwise;
  int value = 0;
  const char* const end = argv[which] + std::strlen(argv[which]);
  const auto [stopped, error] = std::from_chars(argv[which], end, value);
  if (error != std::errc() || stopped != end || value < least || value > most)
    throw std::invalid_argument(std::string(name) + " is '" + argv[which] + "'; it must be an integer from " +
                                std::to_string(least) + " to " + std::to_string(most));
  return value;
}

}  // namespace searches
