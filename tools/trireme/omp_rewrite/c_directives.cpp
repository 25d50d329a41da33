#include "omp_rewrite/c_directives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tri::tools {
namespace {

using token_list = std::vector<token>;
using token_span = std::span<const token>;

constexpr int deepest_expansion = 16;
constexpr std::size_t most_variants = 32;
constexpr std::size_t no_place = ~std::size_t{0};

struct macro {
  std::vector<token_list> bodies;  // each different definition in the file
  bool has_parameters = false;
  std::string parameter;      // the only one; __VA_ARGS__ for all there may be
  bool makes_pragma = false;  // NAME(omp for) is that directive
  bool adds_words = false;    // NAME(private(x)) is one as well: `words` come before
  token_list words;
};

bool same_tokens(const token_list& a, const token_list& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const token& x, const token& y) { return x.text == y.text; });
}

// The facts behind a decision about the loop.
std::string facts_of(const directive& which) {
  std::string facts = fmt::format("{} {}", fmt::join(which.words, " "), which.problem);
  for (const clause& each : which.clauses) {
    if (each.name.is("schedule") || each.name.is("nowait") || each.name.is("ordered") || each.name.is("collapse") ||
        each.name.is("dist_schedule") || each.name.is("reduction")) {
      facts += fmt::format(" {}", each.name.text);
      for (const token& argument : each.arguments) facts += fmt::format(" {}", argument.text);
    }
  }
  return facts;
}

// Behind the bracket that closes the one at `open`, or nothing.
std::optional<std::size_t> behind_bracket(token_span tokens, std::size_t open, const char* opening = "(",
                                          const char* closing = ")") {
  int depth = 0;
  for (std::size_t at = open; at < tokens.size(); ++at) {
    if (tokens[at].is(opening)) ++depth;
    if (tokens[at].is(closing) && --depth == 0) return at + 1;
  }
  return std::nullopt;
}

class finder {
 public:
  explicit finder(std::string_view source) : lines_(source), text_(without_splices(source)), tokens_(c_tokens(text_)) {}

  std::vector<directive> all() {
    collect_macros();
    for (std::size_t at = 0; at < tokens_.size();) {
      if (begins_preprocessor_line(at)) {
        at = preprocessor_line(at);
      } else {
        const std::size_t behind = other(at, tokens_.size());
        if (behind == at + 1 && !is_inactive()) rest_.words.push_back(tokens_[at]);
        at = behind;
      }
    }
    return std::move(found_);
  }

  // The remaining words, after everything has been read.
  source_words rest() {
    for (const auto& [name, entry] : macros_) {
      token_list& all = rest_.macros[name];
      for (const token_list& body : entry.bodies) all.insert(all.end(), body.begin(), body.end());
    }
    return std::move(rest_);
  }

 private:
  bool begins_preprocessor_line(std::size_t at) const {
    return tokens_[at].begins_line &&
           (tokens_[at].is("#") || (tokens_[at].is("%") && at + 1 < tokens_.size() && tokens_[at + 1].is(":")));
  }
  // Of the preprocessor line at `at`: its first word, and where the next line begins.
  std::size_t word_of_line(std::size_t at) const { return at + (tokens_[at].is("%") ? 2 : 1); }
  std::size_t end_of_line(std::size_t at) const {
    do ++at;
    while (at < tokens_.size() && !tokens_[at].begins_line);
    return at;
  }
  const token& word(std::size_t at, std::size_t end) const {
    static const token none;
    return at < end ? tokens_[at] : none;
  }

  void collect_macros() {
    for (std::size_t at = 0; at < tokens_.size(); ++at) {
      if (!begins_preprocessor_line(at)) continue;
      const std::size_t end = end_of_line(at);
      const std::size_t define = word_of_line(at);
      if (!word(define, end).is("define") || define + 1 >= end) continue;
      const token& name = tokens_[define + 1];
      macro& entry = macros_[name.text];
      std::size_t body = define + 2;
      const bool parameters = body < end && tokens_[body].is("(") && tokens_[body].begin == name.end;
      if (parameters) {
        const std::size_t first = body + 1;
        body = behind_bracket(token_span(tokens_).first(end), body).value_or(end);
        if (body == first + 2) entry.parameter = tokens_[first].text;
        if (body == first + 4 && tokens_[first].is(".")) entry.parameter = "__VA_ARGS__";
      }
      entry.has_parameters |= parameters;
      token_list tokens(tokens_.begin() + static_cast<std::ptrdiff_t>(body),
                        tokens_.begin() + static_cast<std::ptrdiff_t>(end));
      if (std::none_of(entry.bodies.begin(), entry.bodies.end(),
                       [&](const token_list& known) { return same_tokens(known, tokens); }))
        entry.bodies.push_back(std::move(tokens));
    }
    // A macro may use another one that is defined further down.
    for (bool more = true; more;) {
      more = false;
      for (auto& [name, entry] : macros_) more |= !entry.makes_pragma && !entry.adds_words && find_pragma(entry);
    }
  }

  // Macros that make a directive of their argument: _Pragma(#x), _Pragma(STRING(x)), ANOTHER(x), and the same with
  // `omp ...` before x.
  bool find_pragma(macro& entry) const {
    if (entry.bodies.size() != 1 || entry.parameter.empty()) return false;
    token_span body = entry.bodies.front();
    const auto is_call = [&] {
      return body.size() >= 3 && body[0].kind == token_kind::identifier && body[1].is("(") && body.back().is(")");
    };
    if (!is_call()) return false;
    const auto known = macros_.find(body[0].text);
    const bool operator_itself = body[0].is("_Pragma");
    if (!operator_itself && (known == macros_.end() || !known->second.makes_pragma)) return false;
    body = body.subspan(2, body.size() - 3);
    if (operator_itself) {
      if (body.size() == 2 && body[0].is("#")) {
        body = body.subspan(1);
      } else if (is_call() && macros_.contains(body[0].text)) {
        body = body.subspan(2, body.size() - 3);
      } else {
        return false;
      }
    }
    if (body.empty() || !body.back().is(entry.parameter.c_str())) return false;
    entry.makes_pragma = body.size() == 1;
    entry.adds_words = body.size() > 1 && body[0].is("omp");
    if (entry.adds_words) entry.words.assign(body.begin() + 1, body.end() - 1);
    return entry.makes_pragma || entry.adds_words;
  }

  std::size_t preprocessor_line(std::size_t at) {
    const std::size_t end = end_of_line(at);
    const std::size_t first = word_of_line(at);
    const token& what = word(first, end);
    if (what.is("pragma")) {
      if (word(first + 1, end).is("omp")) add(token_span(tokens_).subspan(first + 2, end - first - 2), at, end);
    } else if (what.is("define")) {
      // A macro that makes a directive of its argument is not one itself: its uses are.
      const auto known = macros_.find(word(first + 1, end).text);
      if (known != macros_.end() && (known->second.makes_pragma || known->second.adds_words)) return end;
      in_definition_ = true;
      for (std::size_t each = first + 1; each < end;) each = other(each, end);
      in_definition_ = false;
    } else if (what.is("if") || what.is("ifdef") || what.is("ifndef")) {
      const bool literal = what.is("if") && end - first == 2;
      const bool zero = literal && (tokens_[first + 1].is("0") || tokens_[first + 1].is("false"));
      const bool one = literal && (tokens_[first + 1].is("1") || tokens_[first + 1].is("true"));
      conditions_.push_back({zero, one});
    } else if ((what.is("else") || what.is("elif") || what.is("elifdef") || what.is("elifndef")) &&
               !conditions_.empty()) {
      conditions_.back().inactive = conditions_.back().taken;
    } else if (what.is("endif") && !conditions_.empty()) {
      conditions_.pop_back();
    }
    return end;
  }

  // Directives that are not lines of their own. Returns the position at which to continue.
  std::size_t other(std::size_t at, std::size_t end) {
    const token& here = tokens_[at];
    if (here.kind == token_kind::identifier && word(at + 1, end).is("(")) {
      const std::optional<std::size_t> behind = behind_bracket(token_span(tokens_).first(end), at + 1);
      if (!behind.has_value()) return at + 1;
      if (here.is("_Pragma")) {
        const token& literal = tokens_[at + 2];
        // With an encoding prefix it would have to be read differently; no one writes that.
        if (*behind == at + 4 && literal.kind == token_kind::string && literal.text.starts_with('"')) {
          const mapped_text inside = contents_of(text_, literal);
          const token_list tokens = c_tokens(inside);
          if (!tokens.empty() && tokens[0].is("omp")) add(token_span(tokens).subspan(1), at, *behind);
        }
        return *behind;
      }
      const auto known = macros_.find(here.text);
      if (known != macros_.end() && known->second.makes_pragma && word(at + 2, end).is("omp")) {
        add(token_span(tokens_).subspan(at + 3, *behind - at - 4), at, *behind);
        return *behind;
      }
      if (known != macros_.end() && known->second.adds_words) {
        token_list directive_tokens = known->second.words;
        for (token& each : directive_tokens) {
          each.macro = here.text;
          each.first = each.last = tokens_[at + 1].last;  // behind the bracket
        }
        directive_tokens.insert(directive_tokens.end(), tokens_.begin() + static_cast<std::ptrdiff_t>(at) + 2,
                                tokens_.begin() + static_cast<std::ptrdiff_t>(*behind) - 1);
        add(directive_tokens, at, *behind);
        return *behind;
      }
    }
    if (here.is("[") && word(at + 1, end).is("[")) return attributes(at, end);
    return at + 1;
  }

  std::size_t attributes(std::size_t at, std::size_t end) {
    const std::optional<std::size_t> behind = behind_bracket(token_span(tokens_).first(end), at, "[", "]");
    if (!behind.has_value()) return at + 1;
    bool of_openmp = false;
    for (std::size_t each = at; each < *behind; ++each) {
      of_openmp |= tokens_[each].is("omp");
      if (!of_openmp || !tokens_[each].is("directive") || !word(each + 1, *behind).is("(")) continue;
      const std::size_t close = behind_bracket(token_span(tokens_).first(*behind), each + 1).value_or(*behind) - 1;
      if (close > each + 2) add(token_span(tokens_).subspan(each + 2, close - each - 2), at, *behind);
      each = close;
    }
    return *behind;
  }

  // Replaces macros of this file where they decide something: outside of brackets, and in schedule(...). A macro with
  // several definitions gives several variants.
  void expand(token_span rest, token_list& done, int depth, bool in_schedule, std::vector<token_list>& variants) {
    if (variants.size() >= most_variants) return;
    if (rest.empty()) {
      variants.push_back(done);
      return;
    }
    const token& here = rest.front();
    if (here.is("(")) {
      in_schedule |= depth == 0 && !done.empty() && done.back().is("schedule");
      ++depth;
    } else if (here.is(")")) {
      --depth;
      if (depth == 0) in_schedule = false;
    }
    const auto known = macros_.find(here.text);
    const bool expands = here.kind == token_kind::identifier && (depth == 0 || in_schedule) && known != macros_.end() &&
                         !known->second.has_parameters && expanding_.size() < deepest_expansion &&
                         !expanding_.contains(here.text);
    if (!expands) {
      done.push_back(here);
      expand(rest.subspan(1), done, depth, in_schedule, variants);
      done.pop_back();
      return;
    }
    expanding_.insert(here.text);
    for (const token_list& body : known->second.bodies) {
      token_list replaced = body;
      for (token& each : replaced) {
        each.macro = here.macro.empty() ? here.text : here.macro;
        each.first = here.first;
        each.last = here.last;
      }
      replaced.insert(replaced.end(), rest.begin() + 1, rest.end());
      // The text behind the macro may contain it again, but no sane directive does.
      expand(replaced, done, depth, in_schedule, variants);
    }
    expanding_.erase(here.text);
  }

  // [begin, end): the tokens of the file that the directive consists of; loops come behind them.
  void add(token_span tokens, std::size_t begin, std::size_t end) {
    std::vector<token_list> variants;
    token_list done;
    expand(tokens, done, 0, false, variants);
    directive result = parse_directive(variants.front(), dialect::c);
    for (std::size_t index = 1; index < variants.size(); ++index) {
      const directive other = parse_directive(variants[index], dialect::c);
      if (result.problem.empty() && facts_of(other) != facts_of(result))
        result.problem = "a macro in it has several definitions in this file";
    }
    result.line = lines_.line_of(tokens_[begin].first) + 1;
    result.inactive = is_inactive();
    result.place = in_definition_ ? no_place : rest_.words.size();
    if (result.is_loop()) result.nest = nest_of(result, end);
    found_.push_back(std::move(result));
  }

  bool is_inactive() const {
    return std::any_of(conditions_.begin(), conditions_.end(), [](const condition& c) { return c.inactive; });
  }

  // Where the statement behind the directive begins: other pragmas and attributes may come before.
  std::size_t statement_at(std::size_t at) const {
    while (at < tokens_.size()) {
      if (begins_preprocessor_line(at)) {
        at = end_of_line(at);
      } else if (tokens_[at].is("[") && word(at + 1, tokens_.size()).is("[")) {
        at = behind_bracket(tokens_, at, "[", "]").value_or(tokens_.size());
      } else if (tokens_[at].is("_Pragma")) {
        at = behind_bracket(tokens_, at + 1).value_or(tokens_.size());
      } else {
        return at;
      }
    }
    return at;
  }

  loop_nest nest_of(const directive& which, std::size_t at) const {
    const auto [depth, given] = collapse_depth_of(which);
    if (depth < 2) return loop_nest::single;
    if (in_definition_) return loop_nest::unreadable;  // the loops are where the macro is used
    std::set<std::string> outer;
    for (std::size_t loop = 0; loop < depth; ++loop) {
      at = statement_at(at);
      while (at < tokens_.size() && tokens_[at].is("{")) at = statement_at(at + 1);
      const bool is_for = at + 1 < tokens_.size() && tokens_[at].is("for") && tokens_[at + 1].is("(");
      const std::optional<std::size_t> behind = is_for ? behind_bracket(tokens_, at + 1) : std::optional<std::size_t>();
      if (!behind.has_value()) return given || loop == 0 ? loop_nest::unreadable : loop_nest::rectangular;
      // for (INIT; CONDITION; STEP), or for (DECLARATION : RANGE)
      std::string variable;
      for (std::size_t each = at + 2; each + 1 < *behind; ++each) {
        const token& here = tokens_[each];
        if (here.kind == token_kind::identifier && outer.contains(here.text)) return loop_nest::not_rectangular;
        const token& next = tokens_[each + 1];
        if (variable.empty() && here.kind == token_kind::identifier &&
            (next.is("=") || next.is("{") || next.is("(") || next.is(":")))
          variable = here.text;
      }
      if (variable.empty()) return loop_nest::unreadable;
      outer.insert(variable);
      at = *behind;
    }
    return loop_nest::rectangular;
  }

  struct condition {
    bool inactive;  // we are in a part that is never compiled
    bool taken;     // `#if 1`: the part behind #else is not
  };

  line_table lines_;
  mapped_text text_;
  token_list tokens_;
  std::map<std::string, macro> macros_;
  std::set<std::string> expanding_;
  std::vector<condition> conditions_;
  bool in_definition_ = false;
  source_words rest_;
  std::vector<directive> found_;
};

}  // namespace

std::vector<directive> c_directives(std::string_view source, source_words* rest) {
  finder reader(source);
  std::vector<directive> found = reader.all();
  if (rest != nullptr) *rest = reader.rest();
  return found;
}

}  // namespace tri::tools
