// One OpenMP directive as far as rewriting needs it: which construct, which clauses, and facts about the loops behind
// it. The same for C, C++ and Fortran: `do` is called `for`. Plain values.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omp_rewrite/token.hpp"

namespace tri::tools {

struct clause {
  token name;
  std::vector<token> arguments;  // between the brackets
  bool has_arguments = false;
};

/// The loops that collapse(n) joins.
enum class loop_nest : std::uint8_t {
  single,
  rectangular,
  not_rectangular,  // bounds of one depend on another; the standard then allows no schedule clause
  unreadable
};

struct directive {
  std::size_t line = 0;            // from 1
  std::vector<std::string> words;  // of the construct: "parallel", "for"; of others only the first
  std::vector<clause> clauses;     // of loops and parallel regions; of threadprivate one of that name
  std::size_t name_end = 0;        // offset in the file behind the last word
  std::size_t text_end = 0;        // offset behind everything
  std::string name_macro;          // the macro that the name comes from
  std::string problem;             // why it cannot be understood
  bool inactive = false;           // inside #if 0
  bool upper_case = false;
  bool nowait_at_end = false;  // Fortran: at the end directive
  loop_nest nest = loop_nest::single;
  std::size_t place = 0;  // C: which word of the code comes behind it (source_words)

  bool has_word(std::string_view word) const;
  /// A worksharing loop: for, parallel for, distribute parallel for simd, ...
  bool is_loop() const { return has_word("for") && words.front() != "end"; }
  /// The first clause of that name, or null.
  const clause* find(std::string_view name) const;
};

/// The number of loops that collapse(n) joins, if the clause gives it.
struct collapse_depth {
  std::size_t loops = 1;
  bool given = true;  // false for a named constant: then `loops` is the most there can be
};
collapse_depth collapse_depth_of(const directive& which);

enum class dialect : std::uint8_t { c, fortran };

/// Reads the tokens behind `omp`. Words of Fortran may stick together (`paralleldo`), and where blanks mean nothing
/// (fixed form) clauses too; `text` is what its tokens were read from.
directive parse_directive(std::span<const token> tokens, dialect language, const mapped_text* text = nullptr);

}  // namespace tri::tools
