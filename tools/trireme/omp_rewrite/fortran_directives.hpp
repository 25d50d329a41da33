// OpenMP directives of a Fortran source, in free form (!$omp) or fixed form (!$omp, c$omp, *$omp from column 1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "omp_rewrite/directive.hpp"

namespace tri::tools {

struct fortran_form {
  bool fixed = false;
  std::size_t line_length = 132;  // characters of a line that the compiler reads
};

/// In the order of the file. `nowait` at the end of a loop is noted at its beginning.
std::vector<directive> fortran_directives(std::string_view source, const fortran_form& form);

/// For each directive: empty, or, of a loop that is not its own region, why it may rely on other static loops giving
/// each thread the same iterations. Statements are not parsed: that a file queries thread numbers or has threadprivate
/// data, or that a region has private names with brackets (arrays), is enough.
std::vector<std::string> fortran_reliances(const std::vector<directive>& directives, std::string_view source);

}  // namespace tri::tools
