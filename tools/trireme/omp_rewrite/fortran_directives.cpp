#include "omp_rewrite/fortran_directives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <set>
#include <string>

namespace tri::tools {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return lower(c); });
  return result;
}
bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Part of a line, [begin, end) within it.
struct fragment {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool continues = false;  // the line continues in the next one (free form)
  bool continued = false;  // ... and this one marks that it does not begin a word
};

std::vector<token> fortran_tokens(const mapped_text& text) {
  std::vector<token> tokens;
  const auto add = [&](std::size_t begin, std::size_t end, token_kind kind) {
    tokens.push_back(make_token(text, begin, end, kind));
    if (kind == token_kind::identifier) tokens.back().text = lower(tokens.back().text);
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    std::size_t end = at + 1;
    if (is_blank(c)) {
      ++at;
      continue;
    }
    const auto in_name = [&](std::size_t index) {
      return std::isalnum(static_cast<unsigned char>(text[index])) != 0 || text[index] == '_' || text[index] == '$';
    };
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
      while (end < text.size() && in_name(end)) ++end;
      add(at, end, token_kind::identifier);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (end < text.size() && in_name(end)) ++end;
      add(at, end, token_kind::number);
    } else if (c == '"' || c == '\'') {
      while (end < text.size() && text[end] != c) ++end;
      end = std::min(end + 1, text.size());
      add(at, end, token_kind::string);
    } else {
      add(at, end, token_kind::punctuation);
    }
    at = end;
  }
  return tokens;
}

class finder {
 public:
  finder(std::string_view source, const fortran_form& form) : source_(source), lines_(source), form_(form) {}

  std::vector<directive> all() {
    for (std::size_t line = 0; line < lines_.count();) {
      follow_conditions(line);
      const std::optional<fragment> first = directive_fragment(line, false);
      line = first.has_value() ? read_directive(line, *first) : line + 1;
    }
    note_ends();
    return std::move(found_);
  }

 private:
  std::string_view line(std::size_t number) const { return lines_.text_of(number); }

  // Where a comment begins in [begin, end) of the line, or `end`.
  static std::size_t end_of_code(std::string_view text, std::size_t begin, std::size_t end) {
    char quote = '\0';
    for (std::size_t at = begin; at < end; ++at) {
      if (quote != '\0') {
        if (text[at] == quote) quote = '\0';
      } else if (text[at] == '"' || text[at] == '\'') {
        quote = text[at];
      } else if (text[at] == '!') {
        return at;
      }
    }
    return end;
  }

  // The line's content, if it belongs to a directive: its first line, or (`more`) a continuation.
  std::optional<fragment> directive_fragment(std::size_t number, bool more) const {
    const std::string_view text = line(number);
    const auto sentinel_at = [&](std::size_t at) { return lower(text.substr(at, 5)).substr(1) == "$omp"; };
    fragment result;
    if (form_.fixed) {
      if (text.size() < 6 || std::string_view("!cC*").find(text[0]) == std::string_view::npos || !sentinel_at(0))
        return std::nullopt;
      const char mark = text[5];
      if (more == (is_blank(mark) || mark == '0')) return std::nullopt;
      result.begin = 6;
      result.continued = true;
      const std::size_t limit = std::min(text.size(), form_.line_length);
      result.end = end_of_code(text, std::min(result.begin, limit), limit);
    } else {
      const std::size_t at = text.find_first_not_of(" \t");
      if (at == std::string_view::npos || text[at] != '!' || !sentinel_at(at)) return std::nullopt;
      result.begin = at + 5;
      if (result.begin < text.size() && !is_blank(text[result.begin]) && text[result.begin] != '&') return std::nullopt;
      while (result.begin < text.size() && is_blank(text[result.begin])) ++result.begin;
      if (result.begin < text.size() && text[result.begin] == '&') {
        if (!more) return std::nullopt;
        ++result.begin;
        result.continued = true;
      }
      result.end = end_of_code(text, result.begin, text.size());
    }
    while (result.end > result.begin && is_blank(text[result.end - 1])) --result.end;
    result.end = std::max(result.end, result.begin);
    if (!form_.fixed && result.end > result.begin && text[result.end - 1] == '&') {
      result.continues = true;
      --result.end;
    }
    return result;
  }

  bool is_comment_or_empty(std::size_t number) const {
    const std::string_view text = line(number);
    const std::size_t at = text.find_first_not_of(" \t");
    if (at == std::string_view::npos || text[at] == '!') return true;
    return form_.fixed && std::string_view("cC*").find(text[0]) != std::string_view::npos;
  }

  void add_fragment(mapped_text& text, std::size_t number, const fragment& part) const {
    const std::string_view whole = line(number);
    const std::size_t offset = lines_.begin_of(number);
    char quote = '\0';
    if (!text.empty() && !part.continued) text.add(' ', offset);
    for (std::size_t at = part.begin; at < part.end; ++at) {
      const char c = whole[at];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (form_.fixed && is_blank(c)) {
        continue;  // blanks mean nothing
      }
      text.add(c, offset + at);
    }
  }

  // Returns the line behind it.
  std::size_t read_directive(std::size_t first, fragment part) {
    mapped_text text;
    add_fragment(text, first, part);
    std::size_t next = first + 1;
    while (next < lines_.count() && (form_.fixed || part.continues)) {
      std::size_t candidate = next;
      while (candidate < lines_.count() && !directive_fragment(candidate, true).has_value() &&
             !directive_fragment(candidate, false).has_value() && is_comment_or_empty(candidate))
        ++candidate;
      if (candidate == lines_.count()) break;
      const std::optional<fragment> more = directive_fragment(candidate, true);
      if (!more.has_value()) break;
      part = *more;
      add_fragment(text, candidate, part);
      next = candidate + 1;
    }
    const std::vector<token> tokens = fortran_tokens(text);
    if (tokens.empty()) return next;
    directive result = parse_directive(tokens, dialect::fortran, &text);
    result.line = first + 1;
    result.inactive =
        std::any_of(conditions_.begin(), conditions_.end(), [](const condition& c) { return c.inactive; });
    if (result.is_loop()) result.nest = nest_of(result, next);
    found_.push_back(std::move(result));
    return next;
  }

  // For files that go through the C preprocessor.
  void follow_conditions(std::size_t number) {
    const std::string_view text = line(number);
    if (text.empty() || text[0] != '#') return;
    static const std::regex if_zero("#\\s*if\\s+0\\s*");
    static const std::regex if_one("#\\s*if\\s+1\\s*");
    static const std::regex any_if("#\\s*if.*");
    static const std::regex other_branch("#\\s*el.*");
    static const std::regex end_if("#\\s*endif.*");
    const std::string whole(text);
    if (std::regex_match(whole, any_if)) {
      conditions_.push_back({std::regex_match(whole, if_zero), std::regex_match(whole, if_one)});
    } else if (std::regex_match(whole, other_branch) && !conditions_.empty()) {
      conditions_.back().inactive = conditions_.back().taken;
    } else if (std::regex_match(whole, end_if) && !conditions_.empty()) {
      conditions_.pop_back();
    }
  }

  // The statement that begins at line `number` or behind it: lower case, without blanks, comments and continuation.
  // `number` becomes the line behind it. Empty at the end of the file.
  std::string statement(std::size_t& number) const {
    std::string result;
    bool more = false;
    for (; number < lines_.count(); ++number) {
      const std::string_view text = line(number);
      if (is_comment_or_empty(number) || text[0] == '#') continue;
      std::size_t begin = text.find_first_not_of(" \t");
      if (form_.fixed) {
        const bool goes_on = text.size() > 5 && !is_blank(text[5]) && text[5] != '0' &&
                             text.substr(0, 5).find_first_not_of(' ') == std::string_view::npos;
        if (more && !goes_on) return result;
        if (goes_on) begin = 6;
      } else if (text[begin] == '&') {
        ++begin;
      }
      const std::size_t limit = form_.fixed ? std::min(text.size(), form_.line_length) : text.size();
      const std::size_t end = end_of_code(text, std::min(begin, limit), limit);
      for (std::size_t at = begin; at < end; ++at)
        if (!is_blank(text[at])) result += lower(text[at]);
      more = form_.fixed || result.ends_with('&');
      if (result.ends_with('&')) result.pop_back();
      if (!more) {
        ++number;
        return result;
      }
    }
    return result;
  }

  loop_nest nest_of(const directive& which, std::size_t number) const {
    const auto [depth, given] = collapse_depth_of(which);
    if (depth < 2) return loop_nest::single;
    static const std::regex loop_head("(?:[0-9]+)?(?:[a-z][a-z0-9_]*:)?do(?:[0-9]+,?)?([a-z][a-z0-9_]*)=(.*)");
    static const std::regex name("[a-z][a-z0-9_]*");
    std::set<std::string> outer;
    for (std::size_t loop = 0; loop < depth; ++loop) {
      const std::string text = statement(number);
      std::smatch found;
      if (!std::regex_match(text, found, loop_head))
        return given || loop == 0 ? loop_nest::unreadable : loop_nest::rectangular;
      const std::string bounds = found[2];
      for (std::sregex_iterator each(bounds.begin(), bounds.end(), name), end; each != end; ++each)
        if (outer.contains(each->str())) return loop_nest::not_rectangular;
      outer.insert(found[1]);
    }
    return loop_nest::rectangular;
  }

  // `nowait` is at the end directive, which may be missing: it belongs to the last open construct of its name.
  void note_ends() {
    std::vector<directive*> open;
    for (directive& each : found_) {
      if (each.words.empty()) continue;
      if (each.words.front() != "end") {
        open.push_back(&each);
        continue;
      }
      const auto is_same = [&](const directive* begun) {
        return std::equal(each.words.begin() + 1, each.words.end(), begun->words.begin(), begun->words.end());
      };
      const auto begun = std::find_if(open.rbegin(), open.rend(), is_same);
      if (begun == open.rend()) continue;
      (*begun)->nowait_at_end = each.nowait_at_end;
      open.erase(begun.base() - 1, open.end());
    }
  }

  struct condition {
    bool inactive;
    bool taken;
  };

  std::string_view source_;
  line_table lines_;
  fortran_form form_;
  std::vector<condition> conditions_;
  std::vector<directive> found_;
};

}  // namespace

std::vector<directive> fortran_directives(std::string_view source, const fortran_form& form) {
  return finder(source, form).all();
}

std::vector<std::string> fortran_reliances(const std::vector<directive>& directives, std::string_view source) {
  const std::string text = lower(source);
  // Is the name used with brackets in [begin, end)?
  const auto is_array = [&](const std::string& name, std::size_t begin, std::size_t end) {
    const auto in_name = [&](std::size_t at) {
      return std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_';
    };
    for (std::size_t at = text.find(name, begin); at < end; at = text.find(name, at + 1)) {
      std::size_t behind = at + name.size();
      if (behind >= end || in_name(behind) || (at > 0 && in_name(at - 1))) continue;
      while (behind < end && is_blank(text[behind])) ++behind;
      if (behind < end && text[behind] == '(') return true;
    }
    return false;
  };
  std::string of_file;
  if (text.find("omp_get_thread_num") != std::string::npos) of_file = "this file asks for thread numbers";
  for (const directive& each : directives)
    if (!each.inactive && !each.words.empty() && each.words.front() == "threadprivate")
      of_file = fmt::format("this file has threadprivate data (line {})", each.line);

  std::vector<std::string> reasons(directives.size());
  std::string of_region;
  for (std::size_t index = 0; index < directives.size(); ++index) {
    const directive& each = directives[index];
    if (each.inactive || each.words.empty()) continue;
    const bool ends = each.words.front() == "end";
    if (each.has_word("parallel") && !each.has_word("for")) {
      of_region.clear();
      std::size_t end = text.size();
      for (std::size_t next = index + 1; next < directives.size() && !ends; ++next) {
        const directive& other = directives[next];
        if (other.words.empty() || other.words.front() != "end" || !other.has_word("parallel")) continue;
        end = other.name_end;
        break;
      }
      for (const clause& one : each.clauses) {
        const std::string first = one.arguments.empty() ? "" : one.arguments[0].text;
        if (one.name.is("default") && (first == "private" || first == "firstprivate"))
          of_region = fmt::format("the region of line {} makes all it uses private", each.line);
        if (!one.name.is("private") && !one.name.is("firstprivate")) continue;
        for (const token& name : one.arguments)
          if (name.kind == token_kind::identifier && is_array(name.text, each.text_end, end))
            of_region = fmt::format("each thread has its own '{}' in the region of line {}", name.text, each.line);
      }
    } else if (each.is_loop() && !each.has_word("parallel")) {
      const std::string& why = of_region.empty() ? of_file : of_region;
      if (!why.empty()) {
        reasons[index] = fmt::format(
            "{}: static loops may rely on the same iterations being on the same thread (--same-threads includes them)",
            why);
      }
    }
  }
  return reasons;
}

}  // namespace tri::tools
