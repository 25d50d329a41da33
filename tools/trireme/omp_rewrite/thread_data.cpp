#include "omp_rewrite/thread_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "omp_rewrite/code_structure.hpp"

namespace tri::tools {
namespace {

using name_set = std::set<std::string, std::less<>>;

constexpr std::size_t deepest_calls = 8;  // that are followed for nowait

const name_set thread_words{"omp_get_thread_num", "omp_get_ancestor_thread_num",
                            "omp_get_place_num",  "pthread_self",
                            "thrd_current",       "gettid",
                            "sched_getcpu",       "getcpu",
                            "this_thread",        "get_id"};

// What is called without being thread data: words of the language, and functions whose result depends on their
// arguments alone or that only print, wait or take time.
const name_set harmless_calls{"if",
                              "for",
                              "while",
                              "switch",
                              "return",
                              "sizeof",
                              "alignof",
                              "decltype",
                              "int",
                              "long",
                              "short",
                              "char",
                              "unsigned",
                              "signed",
                              "double",
                              "float",
                              "bool",
                              "size_t",
                              "static_cast",
                              "reinterpret_cast",
                              "const_cast",
                              "dynamic_cast",
                              "catch",
                              "assert",
                              "abs",
                              "labs",
                              "fabs",
                              "fabsf",
                              "sqrt",
                              "sqrtf",
                              "cbrt",
                              "sin",
                              "cos",
                              "tan",
                              "asin",
                              "acos",
                              "atan",
                              "atan2",
                              "sinh",
                              "cosh",
                              "tanh",
                              "exp",
                              "exp2",
                              "expf",
                              "log",
                              "log2",
                              "log10",
                              "logf",
                              "pow",
                              "powf",
                              "floor",
                              "ceil",
                              "round",
                              "rint",
                              "lround",
                              "fmod",
                              "fmin",
                              "fmax",
                              "fma",
                              "hypot",
                              "erf",
                              "erfc",
                              "tgamma",
                              "lgamma",
                              "copysign",
                              "isnan",
                              "isinf",
                              "isfinite",
                              "min",
                              "max",
                              "swap",
                              "clamp",
                              "printf",
                              "fprintf",
                              "puts",
                              "putchar",
                              "fflush",
                              "exit",
                              "abort",
                              "memset",
                              "memcpy",
                              "memmove",
                              "memcmp",
                              "strlen",
                              "strcmp",
                              "free",
                              "omp_get_wtime",
                              "omp_get_num_threads",
                              "omp_get_max_threads",
                              "omp_get_num_procs",
                              "omp_in_parallel",
                              "omp_set_lock",
                              "omp_unset_lock",
                              "usleep",
                              "sleep",
                              "sched_yield",
                              "__atomic_fetch_add",
                              "__atomic_load_n",
                              "__atomic_store_n",
                              "__sync_fetch_and_add",
                              "make_pair",
                              "to_string",
                              "operator"};
// ... and of these also their results are the same for all threads.
bool is_uniform_call(const std::string& name) { return harmless_calls.contains(name) && !name.starts_with("__"); }

struct iterations {
  bool known = false;
  long count = 0;
};

class judge {
 public:
  judge(const std::vector<directive>& directives, const source_words& source)
      : directives_(directives), source_(source), words_(source.words), code_(words_, number_names()) {
    collect_thread_names();
    for (std::size_t index = 0; index < directives_.size(); ++index) {
      const directive& each = directives_[index];
      const std::size_t end = code_.behind_statement(each.place);
      statements_.push_back(each.place < words_.size() ? extent{each.place, end} : extent{});
      if (!each.inactive && each.has_word("parallel") && !each.is_loop()) regions_.push_back(index);
      if (!each.inactive && each.is_loop()) loops_.push_back(index);
    }
    hidden_.resize(directives_.size());
    for (const std::size_t loop : loops_) hidden_[loop] = names_hidden_in(loop);
    declared_ = code_.declared_in({0, words_.size()});
    for (const declared_name& each : declared_) declared_at_.insert(each.at);
    find_scopes();
  }

  std::vector<std::string> all() {
    std::vector<std::string> reasons(directives_.size());
    // What callers pass to functions depends on what they were passed.
    for (bool more = true; more;) {
      more = false;
      for (scope& each : scopes_) find_thread_data(each);
      for (const scope& each : scopes_) more |= pass_arguments(each);
    }
    std::vector<use> uses(directives_.size());
    for (const std::size_t loop : loops_) {
      if (!is_static(directives_[loop])) continue;
      uses[loop] = use_of(loop);
    }
    for (const std::size_t loop : loops_)
      if (!uses[loop].what.empty() && !directives_[loop].has_word("parallel")) reasons[loop] = partner_of(loop, uses);
    for (const std::size_t loop : loops_) {
      if (!reasons[loop].empty() || directives_[loop].has_word("parallel") || scope_of(loop) == nullptr) continue;
      if (const std::size_t line = unawaited_line(loop); line != 0) {
        reasons[loop] = fmt::format(
            "the nowait loop of line {} may run before it without a barrier and rely on this one sharing out the "
            "iterations in the same way (--same-threads includes it)",
            line);
      }
    }
    return reasons;
  }

 private:
  // The code between the begin and the end of data that each thread has for itself: a parallel region, or a function
  // that may be called from one.
  struct scope {
    extent where;
    std::size_t function = 0;  // index; of a region the one it stands in
    bool is_region = false;
    bool everything = false;  // it cannot be known what is private
    std::map<std::string, variable_kind> own;
    std::map<std::string, std::string> thread_data;  // and why: part of a sentence
  };
  struct use {
    std::string what;       // part of a sentence; empty: none
    bool outlives = false;  // the function that the loop stands in
  };

  bool is(std::size_t at, const char* what) const { return at < words_.size() && words_[at].is(what); }
  bool is_name(std::size_t at) const { return at < words_.size() && words_[at].kind == token_kind::identifier; }
  bool is_member(std::size_t at) const {
    return at > 0 && (is(at - 1, ".") || (at > 1 && is(at - 1, ">") && is(at - 2, "-")));
  }
  bool is_call(std::size_t at) const { return is_name(at) && is(at + 1, "("); }

  static bool is_static(const directive& which) {
    const clause* const schedule = which.find("schedule");
    if (schedule == nullptr) return true;
    return std::none_of(schedule->arguments.begin(), schedule->arguments.end(), [](const token& word) {
      return word.is("dynamic") || word.is("guided") || word.is("runtime") || word.is("auto");
    });
  }

  // Types that this file declares as numbers.
  std::set<std::string> number_names() const {
    static const name_set numbers{"int",    "long",   "short", "char", "unsigned",
                                  "signed", "double", "float", "bool", "size_t"};
    std::set<std::string> found;
    const auto all_numbers = [](auto begin, auto end) {
      return begin != end && std::all_of(begin, end, [](const token& each) { return numbers.contains(each.text); });
    };
    for (const auto& [name, body] : source_.macros)
      if (all_numbers(body.begin(), body.end())) found.insert(name);
    for (std::size_t at = 0; at < words_.size(); ++at) {
      if (!is(at, "typedef")) continue;
      std::size_t end = at;
      while (end < words_.size() && !is(end, ";")) ++end;
      const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(at) + 1;
      if (end > at + 2 && all_numbers(begin, words_.begin() + static_cast<std::ptrdiff_t>(end) - 1))
        found.insert(words_[end - 1].text);
    }
    return found;
  }

  void collect_thread_names() {
    for (const directive& each : directives_) {
      if (const clause* const list = each.find("threadprivate"))
        for (const token& name : list->arguments) threadprivate_.insert(name.text);
    }
    for (std::size_t at = 0; at < words_.size(); ++at) {
      if (!is(at, "thread_local") && !is(at, "__thread") && !is(at, "_Thread_local")) continue;
      // The last name before = ; [ { or a list of names.
      for (std::size_t here = at + 1; here < words_.size() && !is(here, ";"); ++here)
        if (is_name(here) &&
            (is(here + 1, "=") || is(here + 1, ";") || is(here + 1, "[") || is(here + 1, ",") || is(here + 1, "{")))
          threadprivate_.insert(words_[here].text);
    }
    for (bool more = true; more;) {
      more = false;
      for (const auto& [name, body] : source_.macros) {
        const bool of_thread = std::any_of(body.begin(), body.end(), [&](const token& word) {
          return thread_words.contains(word.text) || threadprivate_.contains(word.text) ||
                 thread_macros_.contains(word.text);
        });
        if (of_thread) more |= thread_macros_.insert(name).second;
      }
    }
  }
  bool is_thread_word(std::size_t at) const {
    if (!is_name(at)) return false;
    const std::string& text = words_[at].text;
    return thread_words.contains(text) || thread_macros_.contains(text) ||
           (threadprivate_.contains(text) && !is_member(at));
  }

  // The innermost region around the words, or none.
  std::optional<std::size_t> region_of(const extent& where) const {
    std::optional<std::size_t> best;
    for (const std::size_t region : regions_)
      if (statements_[region].contains(where) &&
          (!best.has_value() || statements_[*best].contains(statements_[region])))
        best = region;
    return best;
  }

  void find_scopes() {
    for (const std::size_t index : regions_) {
      scope made;
      made.where = statements_[index];
      made.function = code_.function_of(made.where.begin);
      made.is_region = true;
      add_private_names(directives_[index], made);
      scopes_.push_back(std::move(made));
    }
    for (std::size_t function = 0; function < code_.functions().size(); ++function) {
      const function_code& each = code_.functions()[function];
      scope made;
      made.where = each.body;
      made.function = function;
      for (const declared_name& name : each.parameters) made.own.emplace(name.name, name.kind);
      scopes_.push_back(std::move(made));
    }
    for (scope& each : scopes_) {
      for (const declared_name& name : code_.declared_in(each.where)) {
        if (name.is_static && !name.of_thread) continue;
        if (in_a_loop(each, name.at) || in_a_region_inside(each, name.at)) continue;
        each.own.insert_or_assign(name.name, name.kind);
      }
    }
    for (const function_code& each : code_.functions()) {
      called_[each.name] |= each.name == "main" || each.name == "MAIN__";
      passed_[each.name].resize(std::max(passed_[each.name].size(), each.parameters.size()));
    }
    for (std::size_t at = 0; at < words_.size(); ++at) {
      const auto known = called_.find(words_[at].text);
      if (known == called_.end() || code_.function_of(at) == code_.functions().size()) continue;
      if (is_call(at)) known->second = true;
    }
  }
  bool in_a_loop(const scope& which, std::size_t at) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](std::size_t loop) {
      return statements_[loop].contains(at) && which.where.contains(statements_[loop]);
    });
  }
  bool in_a_region_inside(const scope& which, std::size_t at) const {
    return std::any_of(regions_.begin(), regions_.end(), [&](std::size_t region) {
      return statements_[region].contains(at) && which.where.contains(statements_[region]) &&
             !(which.is_region && statements_[region].begin == which.where.begin);
    });
  }
  // For one thread at a time, or for one of them: what is assigned there differs from thread to thread.
  bool in_a_turn(std::size_t at) const {
    for (std::size_t index = 0; index < directives_.size(); ++index) {
      const directive& each = directives_[index];
      if (!statements_[index].contains(at) || each.words.empty()) continue;
      if (!each.has_word("parallel") && !each.has_word("barrier") && !each.has_word("flush") &&
          !each.has_word("simd") && !each.is_loop() && each.words.front() != "threadprivate" &&
          each.words.front() != "taskwait")
        return true;
    }
    return false;
  }

  void add_private_names(const directive& region, scope& made) const {
    if (!region.problem.empty()) made.everything = true;
    for (const clause& each : region.clauses) {
      if (each.name.is("default") && !each.arguments.empty() && !each.arguments[0].is("shared") &&
          !each.arguments[0].is("none"))
        made.everything = true;
      if (!each.name.is("private") && !each.name.is("firstprivate") && !each.name.is("reduction") &&
          !each.name.is("lastprivate"))
        continue;
      for (const token& name : each.arguments)
        if (name.kind == token_kind::identifier) made.own.emplace(name.text, kind_of(name.text));
    }
  }
  // Of a name that stands in a clause: as it is declared anywhere in the file, the worst if several are.
  variable_kind kind_of(const std::string& name) const {
    variable_kind kind = variable_kind::number;
    for (const declared_name& each : declared_)
      if (each.name == name) kind = std::max(kind, each.kind);
    for (const function_code& function : code_.functions())
      for (const declared_name& each : function.parameters)
        if (each.name == name) kind = std::max(kind, each.kind);
    return kind;
  }

  // Names that the loop has copies of, or that each of its iterations declares.
  name_set names_hidden_in(std::size_t loop) const {
    name_set hidden;
    for (const clause& each : directives_[loop].clauses) {
      if (!each.name.is("private") && !each.name.is("lastprivate") && !each.name.is("reduction") &&
          !each.name.is("linear"))
        continue;
      for (const token& word : each.arguments)
        if (word.kind == token_kind::identifier) hidden.insert(word.text);
    }
    const extent& where = statements_[loop];
    if (is(where.begin, "for") && is(where.begin + 1, "(")) {  // its own variable
      for (std::size_t at = where.begin + 2; at < where.end && !is(at, ";") && !is(at, ":"); ++at) {
        if (!is_name(at) || !is(at + 1, "=")) continue;
        hidden.insert(words_[at].text);
        break;
      }
    }
    for (const declared_name& each : code_.declared_in(where))
      if (!each.is_static && !each.of_thread) hidden.insert(each.name);
    return hidden;
  }
  bool hidden_in(std::size_t loop, const std::string& name) const { return hidden_[loop].contains(name); }

  // `name = ...` as a statement of its own or the beginning of a for: whoever comes past it has a new value.
  bool is_plain_write(std::size_t at) const {
    if (!is(at + 1, "=") || is(at + 2, "=") || at == 0) return false;
    if (is(at - 1, "(")) return at > 1 && is(at - 2, "for");
    return is(at - 1, ";") || is(at - 1, "{") || is(at - 1, "}") || is(at - 1, ",") || is(at - 1, ")") ||
           is(at - 1, "else");
  }
  // Does a read at `at` in the loop see what an earlier iteration, or something before the loop, left there?
  bool is_covered(const extent& loop, std::size_t at) const {
    const std::string& name = words_[at].text;
    if (is_plain_write(at)) return true;
    for (std::size_t before = loop.begin; before < at; ++before) {
      if (!is_name(before) || words_[before].text != name || is_member(before) || !is_plain_write(before)) continue;
      const std::size_t block = code_.block_of(before);
      if (block < code_.blocks().size() && code_.blocks()[block].contains(at) && end_of_value(before) <= at &&
          !has_label(before, at))
        return true;
    }
    return false;
  }
  bool has_label(std::size_t begin, std::size_t end) const {
    for (std::size_t at = begin; at < end; ++at)
      if (is(at, "case") || is(at, "default") || is(at, "goto")) return true;
    return false;
  }
  // Behind the value that is assigned at `at`.
  std::size_t end_of_value(std::size_t at) const {
    while (at < words_.size() && !is(at, ";") && !is(at, "}") && !is(at, ")")) {
      const bool opens = is(at, "(") || is(at, "[") || is(at, "{");
      at = opens ? std::min(code_.partner(at), words_.size() - 1) + 1 : at + 1;
      if (is(at, ",")) break;
    }
    return std::min(at, words_.size());
  }

  // Is there something between the words that may differ from thread to thread?
  bool depends_on_thread(const scope& in, const extent& where) const {
    for (std::size_t at = where.begin; at < where.end; ++at) {
      if (is_thread_word(at)) return true;
      if (!is_name(at) || is_member(at)) continue;
      const std::string& name = words_[at].text;
      if (in.thread_data.contains(name)) return true;
      if (is_call(at) && !is_uniform_call(name) && !is_quiet_macro(name)) return true;
      if (name == "new") return true;
    }
    return false;
  }
  bool is_quiet_macro(const std::string& name) const {
    return source_.macros.contains(name) && !thread_macros_.contains(name);
  }

  void find_thread_data(scope& which) {
    const function_code* const function =
        which.is_region || which.function == code_.functions().size() ? nullptr : &code_.functions()[which.function];
    for (const auto& [name, kind] : which.own) {
      if (kind == variable_kind::array || kind == variable_kind::object)
        which.thread_data.emplace(name, fmt::format("'{}', of which each thread has its own", name));
    }
    if (function != nullptr) {
      for (std::size_t index = 0; index < function->parameters.size(); ++index) {
        const declared_name& each = function->parameters[index];
        if (each.name.empty()) continue;
        const bool known = called_.at(function->name);
        if (known) which.thread_data.erase(each.name);  // that it is an object says nothing about whose it is
        if (known ? passed_.at(function->name)[index] : !is_a_bound(which, each.name)) {
          which.thread_data[each.name] =
              known
                  ? fmt::format("'{}', which callers of '{}' take from data of their thread", each.name, function->name)
                  : fmt::format("'{}', which may belong to a thread: no caller of '{}' is in this file", each.name,
                                function->name);
        }
      }
    }
    for (bool more = true; more;) {
      more = false;
      for (std::size_t at = which.where.begin; at < which.where.end; ++at) {
        if (!is_name(at) || is_member(at)) continue;
        const std::string& name = words_[at].text;
        if (which.thread_data.contains(name) || !which.own.contains(name) || in_a_region_inside(which, at)) continue;
        if (!changes(which, at)) continue;
        which.thread_data.emplace(name, fmt::format("'{}', of which each thread has its own", name));
        more = true;
      }
    }
  }
  // A bound of a loop is the same for all threads.
  bool is_a_bound(const scope& which, const std::string& name) const {
    for (const std::size_t loop : loops_) {
      const extent& where = statements_[loop];
      if (!which.where.contains(where) || !is(where.begin + 1, "(")) continue;
      for (std::size_t at = where.begin + 2; at < code_.partner(where.begin + 1) && at < where.end; ++at)
        if (is_name(at) && words_[at].text == name && !is_member(at) && !is(at + 1, "[") && !is(at + 1, ".") &&
            !is(at + 1, "-"))
          return true;
    }
    return false;
  }

  // Does the word give its name a value that may differ from thread to thread?
  bool changes(const scope& which, std::size_t at) const {
    const std::string& name = words_[at].text;
    for (const std::size_t loop : loops_)
      if (statements_[loop].contains(at) && hidden_in(loop, name)) return false;
    const bool adjacent = at + 2 < words_.size();
    const bool plain = adjacent && is(at + 1, "=") && !is(at + 2, "=");
    const auto doubled = [&](std::size_t first, const char* sign) { return is(first, sign) && is(first + 1, sign); };
    const bool counted =
        doubled(at + 1, "+") || doubled(at + 1, "-") || (at >= 2 && (doubled(at - 2, "+") || doubled(at - 2, "-")));
    static const name_set signs{"+", "-", "*", "/", "%", "|", "&", "^"};
    const bool compound = adjacent && signs.contains(words_[at + 1].text) && is(at + 2, "=") && !is(at + 3, "=");
    const bool shifted = (doubled(at + 1, "<") || doubled(at + 1, ">")) && is(at + 3, "=");
    const bool read_in = at >= 2 && doubled(at - 2, ">");
    const bool initial = is(at + 1, "(") || is(at + 1, "{");
    const bool unary = at >= 2 && is(at - 1, "&") && !is_name(at - 2) && words_[at - 2].kind != token_kind::number &&
                       !is(at - 2, ")") && !is(at - 2, "]") && !is(at - 2, "&");
    if (unary || read_in) return true;  // others may write there
    if (is_whole_argument(at)) return true;
    if (!plain && !counted && !compound && !shifted && !initial) return false;
    if (in_a_turn(at)) return true;
    for (const std::size_t loop : loops_)
      if (statements_[loop].contains(at) && which.where.contains(statements_[loop])) return true;
    const extent value{at + 1, initial ? std::min(code_.partner(at + 1), words_.size()) : end_of_value(at)};
    if (depends_on_thread(which, value)) return true;
    return std::any_of(code_.conditions().begin(), code_.conditions().end(), [&](const code_structure::governed& each) {
      return which.where.contains(each.condition) && each.statement.contains(at) &&
             depends_on_thread(which, each.condition);
    });
  }
  // f(.., x, ..) may change x where f takes a reference; not if it is one of those functions that are known.
  bool is_whole_argument(std::size_t at) const {
    if (at == 0 || !(is(at - 1, "(") || is(at - 1, ",")) || !(is(at + 1, ")") || is(at + 1, ","))) return false;
    std::size_t open = at;
    int depth = 0;
    while (open > 0) {
      --open;
      if (is(open, ";") || is(open, "{") || is(open, "}")) return false;
      if (is(open, ")")) ++depth;
      if (is(open, "(") && depth-- == 0) break;
    }
    if (open == 0 || !is_name(open - 1)) return false;
    const std::string& name = words_[open - 1].text;
    if (harmless_calls.contains(name) || is_quiet_macro(name)) return false;
    const auto known = std::find_if(code_.functions().begin(), code_.functions().end(),
                                    [&](const function_code& each) { return each.name == name; });
    if (known == code_.functions().end()) return !is_member(open - 1);
    return std::any_of(known->parameters.begin(), known->parameters.end(),
                       [](const declared_name& each) { return each.kind == variable_kind::reference; });
  }

  // Notes which parameters of functions of this file get thread data. Returns whether one is new.
  bool pass_arguments(const scope& from) {
    if (!from.is_region && code_.functions()[from.function].name == "main") return false;
    bool more = false;
    for (std::size_t at = from.where.begin; at < from.where.end; ++at) {
      if (!is_call(at) || in_a_region_inside(from, at)) continue;
      const auto known = passed_.find(words_[at].text);
      if (known == passed_.end()) continue;
      const std::size_t close = std::min(code_.partner(at + 1), from.where.end);
      std::size_t number = 0;
      extent argument{at + 2, at + 2};
      for (std::size_t here = at + 2; here <= close && number < known->second.size(); ++here) {
        if (here < close && (is(here, "(") || is(here, "[") || is(here, "{")) && code_.partner(here) < close)
          here = code_.partner(here);
        if (here < close && !is(here, ",")) continue;
        argument.end = here;
        if (!known->second[number] &&
            (from.everything || depends_on_thread(from, argument) || names_own_address(from, argument))) {
          known->second[number] = true;
          more = true;
        }
        ++number;
        argument.begin = here + 1;
      }
    }
    return more;
  }
  bool names_own_address(const scope& from, const extent& where) const {
    for (std::size_t at = where.begin; at + 1 < where.end; ++at)
      if (is(at, "&") && is_name(at + 1) && from.own.contains(words_[at + 1].text)) return true;
    return false;
  }

  const scope* scope_of(std::size_t loop) const {
    const extent& where = statements_[loop];
    if (where.end == where.begin) return nullptr;
    const scope* best = nullptr;
    for (const scope& each : scopes_)
      if (each.where.contains(where) && (best == nullptr || best->where.contains(each.where))) best = &each;
    return best;
  }

  // Whether a function of this file uses data of its thread, itself or by what it calls.
  std::string use_in_function(const std::string& name, name_set& seen) const {
    if (!seen.insert(name).second) return {};
    for (const function_code& each : code_.functions()) {
      if (each.name != name) continue;
      for (std::size_t at = each.body.begin; at < each.body.end; ++at) {
        if (is_thread_word(at)) return fmt::format("'{}', which uses '{}'", name, words_[at].text);
        if (!is_call(at)) continue;
        if (std::string inner = use_of_call(at, seen); !inner.empty())
          return fmt::format("'{}', which calls {}", name, inner);
      }
    }
    return {};
  }
  std::string use_of_call(std::size_t at, name_set& seen) const {
    const std::string& name = words_[at].text;
    if (harmless_calls.contains(name) || source_.macros.contains(name)) return {};
    const bool here = called_.contains(name);
    if (here) return use_in_function(name, seen);
    // A method, a name of a library, what is declared here.
    if (name.starts_with("omp_") || is_member(at) || (at > 0 && is(at - 1, "::")) || declared_at_.contains(at))
      return {};
    return fmt::format("'{}', which is not in this file", name);
  }

  use use_of(std::size_t loop) const {
    const extent& where = statements_[loop];
    const scope* const in = scope_of(loop);
    use found;
    if (in == nullptr) return found;
    for (std::size_t at = where.begin; at < where.end; ++at) {
      if (!is_name(at)) continue;
      const std::string& name = words_[at].text;
      if (is_thread_word(at)) return {fmt::format("uses '{}'", name), true};
      if (is_call(at) && !in->own.contains(name)) {
        name_set seen;
        if (std::string inner = use_of_call(at, seen); !inner.empty()) return {"calls " + inner, true};
      }
      if (is_member(at) || hidden_in(loop, name)) continue;
      const auto data = in->thread_data.find(name);
      if (data != in->thread_data.end() && !is_covered(where, at)) {
        found.what = "uses " + data->second;
        const bool parameter = !in->is_region && passes(in->function, name);
        found.outlives |= parameter;
        if (found.outlives) return found;
      } else if (in->everything && found.what.empty()) {
        found.what = "uses data of its region, whose clauses do not say what each thread has for itself";
      }
    }
    return found;
  }
  bool passes(std::size_t function, const std::string& name) const {
    const std::vector<declared_name>& parameters = code_.functions()[function].parameters;
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const declared_name& each) { return each.name == name; });
  }

  // A number that is written down, or a macro of this file for one.
  std::optional<long> number_of(const extent& where) const {
    if (where.end != where.begin + 1) return std::nullopt;
    std::string text = words_[where.begin].text;
    for (int depth = 0; depth < 8; ++depth) {
      const auto known = source_.macros.find(text);
      if (known == source_.macros.end() || known->second.size() != 1) break;
      text = known->second[0].text;
    }
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (text.size() > 1 && text[0] == '0') return std::nullopt;  // octal
    return value;
  }
  // for (i = A; i < B; i++) with numbers for A and B.
  iterations iterations_of(std::size_t loop) const {
    const extent& where = statements_[loop];
    if (directives_[loop].find("collapse") != nullptr || !is(where.begin, "for") || !is(where.begin + 1, "("))
      return {};
    const std::size_t close = code_.partner(where.begin + 1);
    std::vector<std::size_t> ends;
    for (std::size_t at = where.begin + 2; at < close && at < where.end; ++at)
      if (is(at, ";")) ends.push_back(at);
    if (ends.size() != 2 || close >= where.end) return {};
    std::size_t equals = where.begin + 2;
    while (equals < ends[0] && !is(equals, "=")) ++equals;
    if (equals == where.begin + 2 || !is_name(equals - 1)) return {};
    const std::string& variable = words_[equals - 1].text;
    std::size_t at = ends[0] + 1;
    if (!is(at, variable.c_str()) || !is(at + 1, "<")) return {};
    const bool with_last = is(at + 2, "=");
    const std::optional<long> first = number_of({equals + 1, ends[0]});
    const std::optional<long> last = number_of({at + (with_last ? 3 : 2), ends[1]});
    const std::size_t step = ends[1] + 1;
    const bool by_one = close == step + 3 && ((is(step, variable.c_str()) && is(step + 1, "+") && is(step + 2, "+")) ||
                                              (is(step, "+") && is(step + 1, "+") && is(step + 2, variable.c_str())));
    if (!first.has_value() || !last.has_value() || !by_one || *last < *first) return {};
    return {true, *last - *first + (with_last ? 1 : 0)};
  }
  static std::string chunk_of(const directive& which) {
    std::string chunk;
    const clause* const schedule = which.find("schedule");
    if (schedule == nullptr) return chunk;
    const auto comma = std::find_if(schedule->arguments.begin(), schedule->arguments.end(),
                                    [](const token& each) { return each.is(","); });
    if (comma != schedule->arguments.end())
      for (auto each = comma + 1; each != schedule->arguments.end(); ++each) chunk += each->text;
    return chunk;
  }
  bool share_alike(std::size_t a, std::size_t b) const {
    const iterations of_a = iterations_of(a), of_b = iterations_of(b);
    if (of_a.known && of_b.known && of_a.count != of_b.count) return false;
    const std::string chunk_a = chunk_of(directives_[a]), chunk_b = chunk_of(directives_[b]);
    return chunk_a.empty() == chunk_b.empty();
  }

  // Why the loop, which uses thread data, may meet another one like that, or itself, in a region.
  std::string partner_of(std::size_t loop, const std::vector<use>& uses) const {
    const scope& in = *scope_of(loop);
    const extent& where = statements_[loop];
    const auto sentence = [&](const std::string& partner) {
      return fmt::format(
          "it {}, {}: both may rely on the same iterations being on the same thread (--same-threads includes it)",
          uses[loop].what, partner);
    };
    for (const extent& each : code_.repeated())
      if (in.where.contains(each) && each.contains(where) && each.begin < where.begin)
        return sentence("and may run several times in its region");
    if (!in.is_region && uses[loop].outlives)
      return sentence("and its function may be called several times in a region");
    for (const std::size_t other : loops_)
      if (other != loop && !uses[other].what.empty() && !directives_[other].has_word("parallel") &&
          scope_of(other) == &in && share_alike(loop, other))
        return sentence(fmt::format("and so does the loop of line {}", directives_[other].line));
    for (std::size_t at = in.where.begin; at < in.where.end; ++at) {
      if (!is_call(at) || in_a_loop(in, at)) continue;
      name_set seen;
      if (std::string function = loop_behind(at, uses, seen); !function.empty())
        return sentence(fmt::format("and its region calls {}", function));
    }
    return {};
  }
  // A call that may lead to a loop with thread data.
  std::string loop_behind(std::size_t at, const std::vector<use>& uses, name_set& seen) const {
    const std::string& name = words_[at].text;
    if (!called_.contains(name)) {
      name_set none;
      return use_of_call(at, none);
    }
    if (!seen.insert(name).second) return {};
    for (std::size_t index = 0; index < code_.functions().size(); ++index) {
      const function_code& each = code_.functions()[index];
      if (each.name != name) continue;
      for (const std::size_t loop : loops_)
        if (!uses[loop].what.empty() && uses[loop].outlives && !directives_[loop].has_word("parallel") &&
            each.body.contains(statements_[loop]) && !region_of(statements_[loop]).has_value())
          return fmt::format("'{}' with the loop of line {}", name, directives_[loop].line);
      for (std::size_t inner = each.body.begin; inner < each.body.end; ++inner)
        if (is_call(inner))
          if (std::string found = loop_behind(inner, uses, seen); !found.empty()) return found;
    }
    return {};
  }

  static bool does_not_wait(const directive& which) { return which.find("nowait") != nullptr; }

  // The last loop or barrier before some words.
  struct waiting {
    bool decided = false;  // there is one
    std::size_t line = 0;  // of a static loop with nowait; else 0
  };
  // The line of a static nowait loop with as many iterations that may come before this one without a barrier between
  // them, where that is not plain from the text: by way of functions of this file, or in the last turn of a loop around
  // both. Else 0.
  std::size_t unawaited_line(std::size_t loop) const {
    const scope& in = *scope_of(loop);
    const std::size_t begin = statements_[loop].begin;
    name_set seen;
    if (const waiting found = last_in(in, {in.where.begin, begin}, loop, true, seen); found.line != 0)
      return found.line;
    for (const extent& each : code_.repeated()) {
      if (!in.where.contains(each) || !each.contains(begin) || each.begin == begin) continue;
      name_set none;
      if (last_in(in, {each.begin, begin}, loop, false, none).decided) continue;
      if (const waiting found = last_in(in, {begin, each.end}, loop, false, none); found.line != 0) return found.line;
    }
    return 0;
  }
  // What comes last in the words. `upwards`: if nothing does, what comes before the calls of the function.
  waiting last_in(const scope& in, const extent& where, std::size_t loop, bool upwards, name_set& seen) const {
    waiting last;
    std::size_t last_at = 0;
    const auto note = [&](std::size_t at, waiting what) {
      if (last.decided && at < last_at) return;
      last = what;
      last_at = at;
    };
    for (std::size_t index = 0; index < directives_.size(); ++index) {
      const directive& each = directives_[index];
      if (each.inactive || each.words.empty() || each.place < where.begin || each.place > where.end ||
          in_a_region_inside(in, each.place))
        continue;
      if (each.words.front() == "barrier") note(each.place, {true, 0});
      if (!each.is_loop() || each.has_word("parallel") || statements_[index].end > where.end) continue;
      const bool counts = does_not_wait(each) && is_static(each) && share_alike(index, loop);
      if (counts || !does_not_wait(each)) note(statements_[index].end, {true, counts ? each.line : 0});
    }
    for (std::size_t at = where.begin; at < where.end && at < words_.size(); ++at) {
      if (!is_call(at) || !called_.contains(words_[at].text) || in_a_region_inside(in, at)) continue;
      const std::string call = "in " + words_[at].text;
      if (seen.size() > deepest_calls || !seen.insert(call).second) continue;
      for (const scope& each : scopes_) {
        if (each.is_region || code_.functions()[each.function].name != words_[at].text) continue;
        if (const waiting inner = last_in(each, each.where, loop, false, seen); inner.decided) note(at, inner);
      }
      seen.erase(call);
    }
    if (last.decided || !upwards || in.is_region) return last;
    const std::string& name = code_.functions()[in.function].name;
    if (!seen.insert("to " + name).second) return {};
    for (std::size_t at = 0; at < words_.size(); ++at) {
      if (!is_call(at) || words_[at].text != name) continue;
      const scope* caller = nullptr;
      for (const scope& each : scopes_)
        if (each.where.contains(at) && (caller == nullptr || caller->where.contains(each.where))) caller = &each;
      if (caller == nullptr) continue;
      if (const waiting found = last_in(*caller, {caller->where.begin, at}, loop, true, seen); found.line != 0)
        return found;
    }
    return {};
  }

  const std::vector<directive>& directives_;
  const source_words& source_;

  const std::vector<token>& words_;
  code_structure code_;
  std::vector<extent> statements_;    // by directive
  std::vector<std::size_t> regions_;  // directives
  std::vector<std::size_t> loops_;
  std::vector<name_set> hidden_;  // by directive, of loops
  std::vector<declared_name> declared_;
  std::set<std::size_t> declared_at_;
  std::vector<scope> scopes_;
  name_set threadprivate_;
  name_set thread_macros_;
  std::map<std::string, bool> called_;               // functions of this file: is there a call of it?
  std::map<std::string, std::vector<bool>> passed_;  // which of their parameters get thread data
};

}  // namespace

std::vector<std::string> reliances(const std::vector<directive>& directives, const source_words& source) {
  return judge(directives, source).all();
}

}  // namespace tri::tools
