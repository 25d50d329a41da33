// Edits of a text, and the difference between the result and the original. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tri::tools {

/// Replaces [first, last) of the original.
struct text_edit {
  std::size_t first = 0;
  std::size_t last = 0;
  std::string text;
};

/// The edits must not overlap. Throws std::logic_error if they do or reach beyond the text.
std::string apply_edits(std::string_view original, std::vector<text_edit> edits);

/// Lines of the result that the original has not, as a diff counts them.
std::size_t lines_changed_by(std::string_view original, std::vector<text_edit> edits);

/// What `diff -u` prints, with three lines around each change; empty without edits. `colour`: as terminals understand
/// it.
std::string unified_diff(std::string_view original, std::vector<text_edit> edits, const std::string& name, bool colour);

}  // namespace tri::tools
