#include "omp_rewrite/thread_scopes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tri::tools {

thread_scopes::thread_scopes(const std::vector<directive>& directives, const source_words& source)
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
  // The arguments that functions pass on depend on those that they got.
  for (bool more = true; more;) {
    more = false;
    for (scope& each : scopes_) find_thread_data(each);
    for (const scope& each : scopes_) more |= pass_arguments(each);
  }
}

// Types that this file declares as numbers.
std::set<std::string> thread_scopes::number_names() const {
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

void thread_scopes::collect_thread_names() {
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

bool thread_scopes::is_thread_word(std::size_t at) const {
  if (!is_name(at)) return false;
  const std::string& text = words_[at].text;
  return thread_words.contains(text) || thread_macros_.contains(text) ||
         (threadprivate_.contains(text) && !is_member(at));
}

// The innermost region around the words, or none.
std::optional<std::size_t> thread_scopes::region_of(const extent& where) const {
  std::optional<std::size_t> best;
  for (const std::size_t region : regions_)
    if (statements_[region].contains(where) && (!best.has_value() || statements_[*best].contains(statements_[region])))
      best = region;
  return best;
}

void thread_scopes::find_scopes() {
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

bool thread_scopes::in_a_loop(const scope& which, std::size_t at) const {
  return std::any_of(loops_.begin(), loops_.end(), [&](std::size_t loop) {
    return statements_[loop].contains(at) && which.where.contains(statements_[loop]);
  });
}

bool thread_scopes::in_a_region_inside(const scope& which, std::size_t at) const {
  return std::any_of(regions_.begin(), regions_.end(), [&](std::size_t region) {
    return statements_[region].contains(at) && which.where.contains(statements_[region]) &&
           !(which.is_region && statements_[region].begin == which.where.begin);
  });
}

// Code run by one thread at a time, or by one of them: values assigned there differ between threads.
bool thread_scopes::in_a_turn(std::size_t at) const {
  for (std::size_t index = 0; index < directives_.size(); ++index) {
    const directive& each = directives_[index];
    if (!statements_[index].contains(at) || each.words.empty()) continue;
    if (!each.has_word("parallel") && !each.has_word("barrier") && !each.has_word("flush") && !each.has_word("simd") &&
        !each.is_loop() && each.words.front() != "threadprivate" && each.words.front() != "taskwait")
      return true;
  }
  return false;
}

void thread_scopes::add_private_names(const directive& region, scope& made) const {
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

// The kind of a name in a clause: as declared anywhere in the file, the worst if there are several.
variable_kind thread_scopes::kind_of(const std::string& name) const {
  variable_kind kind = variable_kind::number;
  for (const declared_name& each : declared_)
    if (each.name == name) kind = std::max(kind, each.kind);
  for (const function_code& function : code_.functions())
    for (const declared_name& each : function.parameters)
      if (each.name == name) kind = std::max(kind, each.kind);
  return kind;
}

// Names that the loop has copies of, or that each of its iterations declares.
name_set thread_scopes::names_hidden_in(std::size_t loop) const {
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

// `name = ...` as a statement of its own or the beginning of a for: every thread that passes it has a new value.
bool thread_scopes::is_plain_write(std::size_t at) const {
  if (!is(at + 1, "=") || is(at + 2, "=") || at == 0) return false;
  if (is(at - 1, "(")) return at > 1 && is(at - 2, "for");
  return is(at - 1, ";") || is(at - 1, "{") || is(at - 1, "}") || is(at - 1, ",") || is(at - 1, ")") ||
         is(at - 1, "else");
}

// Whether a read at `at` in the loop sees a value left by an earlier iteration, or from before the loop.
bool thread_scopes::is_covered(const extent& loop, std::size_t at) const {
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

bool thread_scopes::has_label(std::size_t begin, std::size_t end) const {
  for (std::size_t at = begin; at < end; ++at)
    if (is(at, "case") || is(at, "default") || is(at, "goto")) return true;
  return false;
}

// Behind the value that is assigned at `at`.
std::size_t thread_scopes::end_of_value(std::size_t at) const {
  while (at < words_.size() && !is(at, ";") && !is(at, "}") && !is(at, ")")) {
    const bool opens = is(at, "(") || is(at, "[") || is(at, "{");
    at = opens ? std::min(code_.partner(at), words_.size() - 1) + 1 : at + 1;
    if (is(at, ",")) break;
  }
  return std::min(at, words_.size());
}

// Is there something between the words that may differ from thread to thread?
bool thread_scopes::depends_on_thread(const scope& in, const extent& where) const {
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

bool thread_scopes::is_quiet_macro(const std::string& name) const {
  return source_.macros.contains(name) && !thread_macros_.contains(name);
}

void thread_scopes::find_thread_data(scope& which) {
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
      if (known) which.thread_data.erase(each.name);  // being an object does not determine whose it is
      if (known ? passed_.at(function->name)[index] : !is_a_bound(which, each.name)) {
        which.thread_data[each.name] =
            known ? fmt::format("'{}', which callers of '{}' take from data of their thread", each.name, function->name)
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
bool thread_scopes::is_a_bound(const scope& which, const std::string& name) const {
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
bool thread_scopes::changes(const scope& which, std::size_t at) const {
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
bool thread_scopes::is_whole_argument(std::size_t at) const {
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
bool thread_scopes::pass_arguments(const scope& from) {
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

bool thread_scopes::names_own_address(const scope& from, const extent& where) const {
  for (std::size_t at = where.begin; at + 1 < where.end; ++at)
    if (is(at, "&") && is_name(at + 1) && from.own.contains(words_[at + 1].text)) return true;
  return false;
}

const thread_scopes::scope* thread_scopes::scope_of(std::size_t loop) const {
  const extent& where = statements_[loop];
  if (where.end == where.begin) return nullptr;
  const scope* best = nullptr;
  for (const scope& each : scopes_)
    if (each.where.contains(where) && (best == nullptr || best->where.contains(each.where))) best = &each;
  return best;
}

}  // namespace tri::tools
