// The known name nearest to a misspelt one, for error messages. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tri::host {

// Smallest number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The member of `known` with the smallest edit distance (the first of equals); empty when `known` is empty.
std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

}  // namespace tri::host
