// The known name nearest to a misspelt one, for error messages. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tri::config {

// Smallest number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The member of `known` with the smallest edit distance (the first of equals). Empty when none resembles the word: the
// distance must be at most a third of the longer of both, without a prefix that all names share, such as "--".
std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

// "; did you mean 'pes'?" for the middle or the end of a message; empty when no name resembles the word.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);
// The same with other words around the name.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string_view before,
                         std::string_view behind);

}  // namespace tri::config
