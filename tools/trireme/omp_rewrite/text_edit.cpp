#include "omp_rewrite/text_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "omp_rewrite/mapped_text.hpp"

namespace tri::tools {
namespace {

constexpr std::size_t context_lines = 3;

void sort_and_check(std::vector<text_edit>& edits, std::size_t size) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const text_edit& a, const text_edit& b) { return a.first < b.first; });
  std::size_t reached = 0;
  for (const text_edit& edit : edits) {
    if (edit.first < reached || edit.last < edit.first || edit.last > size)
      throw std::logic_error(fmt::format("text edit [{}, {}) overlaps another or leaves the text of {} characters",
                                         edit.first, edit.last, size));
    reached = edit.last;
  }
}

// Lines of the original, [first, last), and their replacement.
struct changed_lines {
  std::size_t first = 0;
  std::size_t last = 0;
  std::string text;
};

std::vector<changed_lines> changes_of(std::string_view original, const line_table& lines,
                                      const std::vector<text_edit>& edits) {
  std::vector<changed_lines> changes;
  for (std::size_t index = 0; index < edits.size();) {
    changed_lines change;
    change.first = lines.line_of(edits[index].first);
    change.last = change.first + 1;
    std::vector<text_edit> inside;
    // Edits in the same line, or in lines that edits join, belong together.
    while (index < edits.size() && lines.line_of(edits[index].first) < change.last) {
      change.last = std::max(change.last, lines.line_of(edits[index].last) + 1);
      inside.push_back(edits[index++]);
    }
    const std::size_t begin = lines.begin_of(change.first);
    for (text_edit& edit : inside) {
      edit.first -= begin;
      edit.last -= begin;
    }
    change.text = apply_edits(original.substr(begin, lines.end_of(change.last - 1) - begin), std::move(inside));
    changes.push_back(std::move(change));
  }
  return changes;
}

class printer {
 public:
  explicit printer(bool colour) : colour_(colour) {}
  void line(const char* escape, std::string_view text) {
    if (colour_ && *escape != '\0')
      out_ += fmt::format("\033[{}m{}\033[m\n", escape, text);
    else
      out_ += fmt::format("{}\n", text);
  }
  // A piece of the file, each line behind `mark`.
  void lines(const char* escape, char mark, std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      line(escape, mark + std::string(text.substr(0, end)));
      if (end == std::string_view::npos) {
        line("", "\\ No newline at end of file");
        return;
      }
      text.remove_prefix(end + 1);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  bool colour_;
  std::string out_;
};

std::size_t count_lines(std::string_view text) {
  const auto ends = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

}  // namespace

std::string apply_edits(std::string_view original, std::vector<text_edit> edits) {
  sort_and_check(edits, original.size());
  std::string result;
  std::size_t at = 0;
  for (const text_edit& edit : edits) {
    result += original.substr(at, edit.first - at);
    result += edit.text;
    at = edit.last;
  }
  return result += original.substr(at);
}

std::string unified_diff(std::string_view original, std::vector<text_edit> edits, const std::string& name,
                         bool colour) {
  if (edits.empty()) return {};
  sort_and_check(edits, original.size());
  const line_table lines(original);
  const std::vector<changed_lines> changes = changes_of(original, lines, edits);
  const auto text_of = [&](std::size_t first, std::size_t last) {  // lines
    return first < last ? original.substr(lines.begin_of(first), lines.end_of(last - 1) - lines.begin_of(first))
                        : std::string_view{};
  };
  printer out(colour);
  out.line("1", "--- a/" + name);
  out.line("1", "+++ b/" + name);
  std::size_t added = 0;  // lines that the new file has more, up to here
  for (std::size_t index = 0; index < changes.size();) {
    std::size_t end = index + 1;
    while (end < changes.size() && changes[end].first <= changes[end - 1].last + 2 * context_lines) ++end;
    const std::size_t begin_line = changes[index].first - std::min(context_lines, changes[index].first);
    const std::size_t end_line = std::min(changes[end - 1].last + context_lines, lines.count());
    std::size_t more = 0;
    for (std::size_t each = index; each < end; ++each)
      more += count_lines(changes[each].text) - (changes[each].last - changes[each].first);
    out.line("36", fmt::format("@@ -{},{} +{},{} @@", begin_line + 1, end_line - begin_line, begin_line + 1 + added,
                               end_line - begin_line + more));
    std::size_t at = begin_line;
    for (; index < end; ++index) {
      const changed_lines& change = changes[index];
      out.lines("", ' ', text_of(at, change.first));
      out.lines("31", '-', text_of(change.first, change.last));
      out.lines("32", '+', change.text);
      at = change.last;
    }
    out.lines("", ' ', text_of(at, end_line));
    added += more;
  }
  return out.take();
}

std::size_t lines_changed_by(std::string_view original, std::vector<text_edit> edits) {
  const std::string diff = unified_diff(original, std::move(edits), "file", false);
  std::size_t count = 0;
  std::size_t line = 0;  // the first two name the files
  for (std::size_t at = 0; at < diff.size(); ++line) {
    if (line >= 2 && diff[at] == '+') ++count;
    const std::size_t end = diff.find('\n', at);
    at = end == std::string::npos ? diff.size() : end + 1;
  }
  return count;
}

}  // namespace tri::tools
