// OpenMP directives of a C or C++ source: `#pragma omp`, `_Pragma("omp ...")`, macros that make a _Pragma of their
// argument, and the attributes [[omp::directive(...)]] and [[omp::sequence(...)]]. Only the file itself is read:
// headers are not, so macros that they define are unknown.
#pragma once

#include <string_view>
#include <vector>

#include "omp_rewrite/directive.hpp"
#include "omp_rewrite/thread_data.hpp"

namespace tri::tools {

/// In the order of the file. `rest`: the source without them.
std::vector<directive> c_directives(std::string_view source, source_words* rest = nullptr);

}  // namespace tri::tools
