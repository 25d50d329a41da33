// Whether static loops distribute their iterations in the same way, as far as the text shows: by their schedule, and by
// literal bounds. Pure functions of the text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "omp_rewrite/code_structure.hpp"
#include "omp_rewrite/directive.hpp"
#include "omp_rewrite/thread_data.hpp"

namespace tri::tools {

/// True also without a schedule.
bool is_static(const directive& which);

/// A loop with its directive: the words of `where`.
struct shared_loop {
  const directive& which;
  const extent& where;
};
/// False: the two cannot give each thread the same iterations.
bool share_alike(const shared_loop& a, const shared_loop& b, const source_words& source, const code_structure& code);

}  // namespace tri::tools
