// Which loops of a source file get schedule(runtime), by which edits, and why the others are left alone. Pure
// functions of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omp_rewrite/source_dialect.hpp"
#include "omp_rewrite/text_edit.hpp"

namespace tri::tools {

struct rewrite_options {
  bool chunked = false;       // also schedule(static,n)
  bool nowait = false;        // also loops that do not wait at their end
  bool same_threads = false;  // also loops that may rely on others giving each thread the same iterations
  std::size_t fixed_line_length = 72;
  std::size_t free_line_length = 132;
};

enum class loop_outcome : std::uint8_t { changed, reachable, left };

struct loop_verdict {
  std::size_t line = 0;  // from 1
  loop_outcome outcome = loop_outcome::left;
  std::string reason;  // text; for reachable loops: the schedule
};

struct rewritten_source {
  std::vector<text_edit> edits;
  std::vector<loop_verdict> loops;   // every worksharing loop
  std::vector<loop_verdict> doubts;  // directives that could not be read at all

  std::size_t count(loop_outcome outcome) const;
};

rewritten_source rewrite_loops(std::string_view source, source_form form, const rewrite_options& options);

}  // namespace tri::tools
