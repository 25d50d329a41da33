#include "omp_rewrite/directive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>

namespace tri::tools {
namespace {

using names = std::span<const std::string_view>;

// Words that combine with `for` into one construct.
constexpr std::array<std::string_view, 12> construct_words{"target", "teams",    "distribute", "parallel",
                                                           "for",    "simd",     "sections",   "loop",
                                                           "masked", "taskloop", "master",     "workshare"};
// Words with which other directives begin.
constexpr std::array<std::string_view, 37> other_words{
    "allocate",     "allocators",   "assume",      "assumes",       "atomic",        "barrier", "begin",   "cancel",
    "cancellation", "critical",     "declare",     "depobj",        "dispatch",      "end",     "error",   "flush",
    "fuse",         "groupprivate", "interchange", "interop",       "metadirective", "nothing", "ordered", "requires",
    "reverse",      "scan",         "scope",       "section",       "single",        "split",   "task",    "taskgraph",
    "taskgroup",    "taskwait",     "taskyield",   "threadprivate", "tile"};
constexpr std::array<std::string_view, 3> more_words{"unroll", "usesallocators", "workdistribute"};
constexpr std::array<std::string_view, 44> clause_names{
    "allocate",        "collapse",      "copyin",      "copyprivate",  "default",   "defaultmap",    "depend",
    "device",          "dist_schedule", "doacross",    "filter",       "final",     "firstprivate",  "grainsize",
    "has_device_addr", "hint",          "if",          "in_reduction", "induction", "is_device_ptr", "lastprivate",
    "linear",          "map",           "mergeable",   "message",      "nogroup",   "nontemporal",   "nowait",
    "num_tasks",       "num_teams",     "num_threads", "order",        "ordered",   "priority",      "private",
    "proc_bind",       "reduction",     "safelen",     "safesync",     "schedule",  "severity",      "shared",
    "simdlen",         "thread_limit"};
constexpr std::array<std::string_view, 4> more_clauses{"aligned", "untied", "uses_allocators", "task_reduction"};

bool has(names list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }
bool is_construct_word(std::string_view word) { return has(construct_words, word); }
bool is_other_word(std::string_view word) { return has(other_words, word) || has(more_words, word); }
bool is_clause(std::string_view word) { return has(clause_names, word) || has(more_clauses, word); }

std::string_view longest_prefix(names list, std::string_view text) {
  std::string_view best;
  for (const std::string_view name : list)
    if (text.starts_with(name) && name.size() > best.size()) best = name;
  return best;
}
std::string_view longer(std::string_view a, std::string_view b) { return a.size() >= b.size() ? a : b; }
std::string_view clause_prefix(std::string_view text) {
  return longer(longest_prefix(clause_names, text), longest_prefix(more_clauses, text));
}

class reader {
 public:
  reader(std::span<const token> tokens, dialect language, const mapped_text* text)
      : tokens_(tokens.begin(), tokens.end()), language_(language), text_(text) {}

  directive all() {
    if (tokens_.empty()) return result_;
    result_.text_end = tokens_.back().last;
    const token first = tokens_.front();
    result_.upper_case = language_ == dialect::fortran && is_upper_;
    name();
    if (result_.words.empty()) {
      result_.problem = fmt::format("the directive '{}' is not known", first.text);
      return result_;
    }
    if (result_.words.front() != "end" && (result_.has_word("parallel") || result_.is_loop())) clauses();
    if (result_.words.front() == "threadprivate") {
      clause list;
      list.name = first;
      list.name.text = "threadprivate";
      list.has_arguments = true;
      std::copy_if(tokens_.begin() + static_cast<std::ptrdiff_t>(at_), tokens_.end(),
                   std::back_inserter(list.arguments),
                   [](const token& each) { return each.kind == token_kind::identifier; });
      result_.clauses.push_back(std::move(list));
    }
    // Squeezed, more may follow.
    if (result_.words.front() == "end" && identifier()) result_.nowait_at_end = tokens_[at_].text.starts_with("nowait");
    return result_;
  }

 private:
  bool at_end() const { return at_ == tokens_.size(); }
  bool identifier() const { return !at_end() && tokens_[at_].kind == token_kind::identifier; }
  bool bracket_behind() const { return at_ + 1 < tokens_.size() && tokens_[at_ + 1].is("("); }

  // Cuts the identifier before us behind its first `length` letters.
  void cut(std::size_t length) {
    const token whole = tokens_[at_];
    if (length == whole.text.size()) return;
    token front = make_token(*text_, whole.begin, whole.begin + length, whole.kind);
    token back = make_token(*text_, whole.begin + length, whole.end, whole.kind);
    front.text = whole.text.substr(0, length);
    back.text = whole.text.substr(length);
    tokens_[at_] = front;
    tokens_.insert(tokens_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, back);
  }

  void take_word() {
    const token& word = tokens_[at_++];
    result_.words.push_back(language_ == dialect::fortran && word.is("do") ? "for" : word.text);
    result_.name_end = word.last;
    result_.name_macro = word.macro;
  }

  // The word of a construct that the identifier before us is, or begins with where they may stick together.
  std::string word_before_us() const {
    const std::string& text = tokens_[at_].text;
    if (language_ == dialect::c) return is_construct_word(text) ? text : "";
    std::string_view best = longest_prefix(construct_words, text);
    if (text.starts_with("do") && best.empty()) best = "do";
    if (best == "for") best = {};
    if (clause_prefix(text).size() > best.size()) return {};  // simdlen is not simd
    return std::string(best);
  }

  // Where words may stick together, so may the first two of `atomic update`.
  bool is_other(const std::string& word) const {
    if (language_ == dialect::c || is_other_word(word)) return is_other_word(word);
    const std::size_t other = longer(longest_prefix(other_words, word), longest_prefix(more_words, word)).size();
    return other > longest_prefix(construct_words, word).size();
  }

  void name() {
    if (!identifier()) return;
    const std::string first = tokens_.front().text;
    if (language_ == dialect::fortran && first.starts_with("end") && first.size() > 3) cut(3);
    if (tokens_.front().is("end")) {
      take_word();
    } else if (is_other(first)) {
      take_word();
      return;
    }
    while (identifier()) {
      const std::string word = word_before_us();
      if (word.empty()) return;
      cut(word.size());
      if (bracket_behind() && language_ == dialect::c) return;
      take_word();
    }
  }

  void clauses() {
    while (!at_end()) {
      if (tokens_[at_].is(",")) {
        ++at_;
        continue;
      }
      if (!identifier()) {
        result_.problem = fmt::format("'{}' stands where a clause is expected", tokens_[at_].text);
        return;
      }
      if (language_ == dialect::fortran && !is_clause(tokens_[at_].text)) {
        const std::string_view name = clause_prefix(tokens_[at_].text);
        if (!name.empty() && text_ != nullptr) cut(name.size());
      }
      if (!is_clause(tokens_[at_].text)) {
        result_.problem =
            fmt::format("'{}' is not a known clause; if it is a macro, its definition is elsewhere", tokens_[at_].text);
        return;
      }
      clause next;
      next.name = tokens_[at_++];
      if (!at_end() && tokens_[at_].is("(")) {
        next.has_arguments = true;
        int depth = 0;
        for (; !at_end(); ++at_) {
          if (tokens_[at_].is("(") && depth++ == 0) continue;
          if (tokens_[at_].is(")") && --depth == 0) break;
          next.arguments.push_back(tokens_[at_]);
        }
        if (at_end()) {
          result_.problem = fmt::format("the bracket of clause '{}' is not closed", next.name.text);
          return;
        }
        ++at_;
      }
      result_.clauses.push_back(std::move(next));
    }
  }

  std::vector<token> tokens_;
  dialect language_;
  const mapped_text* text_;
  bool is_upper_ = text_ != nullptr &&
                   std::any_of(text_->text().begin(), text_->text().end(),
                               [](char c) { return std::isupper(static_cast<unsigned char>(c)); }) &&
                   std::none_of(text_->text().begin(), text_->text().end(),
                                [](char c) { return std::islower(static_cast<unsigned char>(c)); });
  std::size_t at_ = 0;
  directive result_;
};

}  // namespace

bool directive::has_word(std::string_view word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const clause* directive::find(std::string_view name) const {
  const auto found = std::find_if(clauses.begin(), clauses.end(), [&](const clause& c) { return c.name.text == name; });
  return found != clauses.end() ? &*found : nullptr;
}

collapse_depth collapse_depth_of(const directive& which) {
  constexpr std::size_t most_nested_loops = 8;
  const clause* const collapse = which.find("collapse");
  if (collapse == nullptr) return {};
  if (collapse->arguments.size() != 1 || collapse->arguments[0].kind != token_kind::number)
    return {.loops = most_nested_loops, .given = false};
  const std::string& text = collapse->arguments[0].text;
  collapse_depth depth{.loops = most_nested_loops};  // also for a number that is none
  std::from_chars(text.data(), text.data() + text.size(), depth.loops);
  return depth;
}

directive parse_directive(std::span<const token> tokens, dialect language, const mapped_text* text) {
  return reader(tokens, language, text).all();
}

}  // namespace tri::tools
