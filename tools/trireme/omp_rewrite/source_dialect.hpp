// In which language and form a source file is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tri::tools {

enum class source_form : std::uint8_t { c, fortran_free, fortran_fixed };

/// By the end of the file name, as compilers do it; nothing for other files.
std::optional<source_form> form_of(const std::filesystem::path& file);

/// "c", "fortran" (or "free") and "fixed". Throws std::invalid_argument with the nearest name.
source_form parse_form(const std::string& name);

}  // namespace tri::tools
