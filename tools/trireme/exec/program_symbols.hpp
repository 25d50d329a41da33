// The functions that a program's file defines or imports, by name. A stripped file has only the latter.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tri::tools {

/// Also false for files that cannot be read or are not 64-bit ELF files.
bool defines_any(const std::string& file, std::initializer_list<std::string_view> functions);
bool wants_any(const std::string& file, std::initializer_list<std::string_view> functions);

}  // namespace tri::tools
