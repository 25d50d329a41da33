// The functions that a program's file has, or wants of its libraries, by name. A stripped file tells the latter only.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tri::tools {

/// False also for files that cannot be read or are no 64-bit ELF files.
bool defines_any(const std::string& file, std::initializer_list<std::string_view> functions);
bool wants_any(const std::string& file, std::initializer_list<std::string_view> functions);

}  // namespace tri::tools
