// The version of the library that a program is linked with. Constant after start-up; callable from any thread.
#pragma once

#include <string_view>

#pragma GCC visibility push(default)

namespace tri {

// "major.minor.patch", as in the CMake package and the pkg-config file.
std::string_view version() noexcept;

}  // namespace tri

#pragma GCC visibility pop
