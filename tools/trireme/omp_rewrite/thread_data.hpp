// Which static loops of a C or C++ source may rely on others giving each thread the same iterations. OpenMP promises
// that for static loops of one region with equally many iterations, and a barrier between them does not end the
// promise: a thread's own data (its number and data indexed by it, private variables, threadprivate ones) persist. Two
// loops that both use such data, and may run in the same region, are such a pair; so is one that may run twice there.
// Undecidable cases count as a pair. Pure functions of the text.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "omp_rewrite/directive.hpp"
#include "omp_rewrite/token.hpp"

namespace tri::tools {

/// A source without comments, preprocessor lines and directives. Of a directive, `place` counts in these words.
struct source_words {
  std::vector<token> words;
  std::map<std::string, std::vector<token>> macros;  // their replacements; all definitions one after the other
};

/// For each directive: empty, or, of a loop that may rely on the same iterations being on the same thread, why.
std::vector<std::string> reliances(const std::vector<directive>& directives, const source_words& source);

}  // namespace tri::tools
