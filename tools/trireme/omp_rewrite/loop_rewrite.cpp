#include "omp_rewrite/loop_rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "omp_rewrite/c_directives.hpp"
#include "omp_rewrite/fortran_directives.hpp"
#include "omp_rewrite/thread_data.hpp"

namespace tri::tools {
namespace {

// A schedule clause taken apart: `modifier, modifier : kind , chunk`.
struct schedule_clause {
  const clause* whole = nullptr;
  token kind;
  std::optional<token> last_of_chunk;
  std::string chunk;
};

std::optional<schedule_clause> schedule_of(const directive& which) {
  const clause* const found = which.find("schedule");
  if (found == nullptr || found->arguments.empty()) return std::nullopt;
  const std::vector<token>& words = found->arguments;
  const auto colon = std::find_if(words.begin(), words.end(), [](const token& each) { return each.is(":"); });
  auto at = colon == words.end() ? words.begin() : colon + 1;
  if (at == words.end()) return std::nullopt;
  schedule_clause result;
  result.whole = found;
  result.kind = *at++;
  if (at != words.end() && at->is(",")) {
    for (++at; at != words.end(); ++at) {
      result.chunk += at->text;
      result.last_of_chunk = *at;
    }
  }
  return result;
}

// Places the new text in one source, keeping to the length of lines where the language has one.
class editor {
 public:
  editor(std::string_view source, source_form form, const rewrite_options& options)
      : source_(source), lines_(source), form_(form) {
    limit_ = form == source_form::fortran_fixed ? options.fixed_line_length : options.free_line_length;
    const std::size_t end = source.find('\n');
    line_end_ = end != std::string_view::npos && end > 0 && source[end - 1] == '\r' ? "\r\n" : "\n";
  }

  // A clause for a directive that has none.
  std::optional<text_edit> add_clause(const directive& which) const {
    const std::string clause = which.upper_case ? "SCHEDULE(RUNTIME)" : "schedule(runtime)";
    if (!which.name_macro.empty()) {
      const bool is_first = which.text_end > 0 && source_[which.text_end - 1] == '(';  // of a macro's argument
      return text_edit{which.text_end, which.text_end, is_first ? clause : " " + clause};
    }
    if (form_ == source_form::c || fits(which.name_end, clause.size() + 1))
      return text_edit{which.name_end, which.name_end, " " + clause};
    // A line more, behind the last one of the directive.
    const std::string sentinel = sentinel_of(which);
    if (form_ == source_form::fortran_fixed) {
      const std::size_t line = lines_.line_of(which.text_end - 1);
      const std::size_t end = lines_.begin_of(line) + lines_.text_of(line).size();
      return text_edit{end, end, line_end_ + sentinel + "& " + clause};
    }
    if (!fits(which.text_end, 2)) return std::nullopt;
    return text_edit{which.text_end, which.text_end, " &" + line_end_ + sentinel + "& " + clause};
  }

  // `runtime` in the place of another kind and its chunk.
  std::optional<std::vector<text_edit>> replace_kind(const directive& which, const schedule_clause& old) const {
    const std::size_t end = old.last_of_chunk.has_value() ? old.last_of_chunk->last : old.kind.last;
    const std::string kind = which.upper_case ? "RUNTIME" : "runtime";
    std::vector<text_edit> edits{{old.kind.first, end, kind}};
    if (form_ == source_form::c) return edits;
    const std::size_t line = lines_.line_of(old.kind.first);
    if (lines_.line_of(end - 1) != line) return std::nullopt;
    const std::size_t length = end - old.kind.first;
    if (kind.size() <= length || fits(old.kind.first, kind.size() - length)) return edits;
    // The clause and what is behind it move to a line of their own.
    const std::size_t begin = old.whole->name.first;
    const std::size_t column = begin - lines_.begin_of(line);
    const std::size_t code_begins = sentinel_column(line) + 6;
    if (lines_.line_of(begin) != line || column <= code_begins + 2) return std::nullopt;
    const bool fixed = form_ == source_form::fortran_fixed;
    edits.insert(edits.begin(), {begin, begin, (fixed ? "" : "&") + line_end_ + sentinel_of(which) + "& "});
    return edits;
  }

 private:
  std::size_t sentinel_column(std::size_t line) const { return lines_.text_of(line).find_first_not_of(" \t"); }
  std::string sentinel_of(const directive& which) const {
    const std::string_view text = lines_.text_of(which.line - 1);
    return std::string(text.substr(0, sentinel_column(which.line - 1) + 5));
  }

  // Is there room for `more` characters in the line of `offset`? Comments at its end may be cut off by the compiler.
  bool fits(std::size_t offset, std::size_t more) const {
    const std::size_t line = lines_.line_of(offset - 1);
    std::string_view text = lines_.text_of(line);
    if (form_ == source_form::fortran_fixed) text = text.substr(0, limit_);
    std::size_t end = text.size();
    char quote = '\0';
    for (std::size_t at = sentinel_column(line) + 5; at < end; ++at) {
      if (quote != '\0') {
        if (text[at] == quote) quote = '\0';
      } else if (text[at] == '"' || text[at] == '\'') {
        quote = text[at];
      } else if (text[at] == '!') {
        end = at;
      }
    }
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
    return end + more <= limit_;
  }

  std::string_view source_;
  line_table lines_;
  source_form form_;
  std::size_t limit_ = 0;
  std::string line_end_;
};

std::string why_left(const directive& which) {
  if (which.inactive) return "inside #if 0";
  if (!which.problem.empty()) return which.problem;
  if (which.has_word("target")) return "it runs on a device (target)";
  if (std::count_if(which.clauses.begin(), which.clauses.end(),
                    [](const clause& each) { return each.name.is("schedule"); }) > 1)
    return "it has several schedule clauses";
  if (const clause* const ordered = which.find("ordered")) {
    return ordered->has_arguments ? "iterations depend on each other (ordered with a number)"
                                  : "ordered iterations take turns, whatever the schedule";
  }
  for (const clause& each : which.clauses) {
    if (each.name.is("reduction") && !each.arguments.empty() && each.arguments[0].is("inscan"))
      return "a scan (reduction with inscan) allows no schedule clause";
  }
  if (which.find("dist_schedule") != nullptr) return "dist_schedule shares it out among teams";
  switch (which.nest) {
    case loop_nest::not_rectangular:
      return "the loops that collapse joins are not rectangular, which allows no schedule clause";
    case loop_nest::unreadable:
      return "the loops that collapse joins could not be read, and only rectangular ones may have a schedule clause";
    default:
      return {};
  }
}

class rewriter {
 public:
  rewriter(std::string_view source, source_form form, const rewrite_options& options)
      : options_(options), editor_(source, form, options) {
    if (form == source_form::c) {
      source_words rest;
      directives_ = c_directives(source, &rest);
      reliances_ = reliances(directives_, rest);
    } else {
      const bool fixed = form == source_form::fortran_fixed;
      const fortran_form lines{fixed, fixed ? options.fixed_line_length : source.size()};
      directives_ = fortran_directives(source, lines);
      reliances_ = fortran_reliances(directives_, source);
    }
  }

  rewritten_source all() {
    for (const directive& each : directives_) {
      if (each.words.empty()) {
        if (!each.inactive) result_.doubts.push_back({each.line, loop_outcome::left, each.problem});
      } else if (each.is_loop()) {
        decide(each);
      }
      if (!each.inactive) follow_barriers(each);
    }
    return std::move(result_);
  }

 private:
  void note(const directive& which, loop_outcome outcome, std::string reason) {
    result_.loops.push_back({which.line, outcome, std::move(reason)});
  }
  void left(const directive& which, std::string reason) { note(which, loop_outcome::left, std::move(reason)); }

  // A loop that stays static and does not wait at its end may rely on the next one sharing out its iterations in the
  // same way: until there is a barrier, which the end of a loop without nowait is, too.
  void follow_barriers(const directive& which) {
    if (which.words.empty()) return;
    if (which.has_word("parallel") || which.words.front() == "barrier") unawaited_line_ = 0;
    if (!which.is_loop()) return;
    const loop_outcome outcome = result_.loops.back().outcome;
    if (!does_not_wait(which) && which.problem.empty()) {
      unawaited_line_ = 0;
    } else if (outcome == loop_outcome::left && !which.has_word("parallel")) {
      unawaited_line_ = which.line;
    }
  }
  static bool does_not_wait(const directive& which) { return which.nowait_at_end || which.find("nowait") != nullptr; }

  void decide(const directive& which) {
    const std::optional<schedule_clause> schedule = schedule_of(which);
    const std::string kind = schedule.has_value() ? schedule->kind.text : "";
    if (which.problem.empty() && !which.inactive && (kind == "dynamic" || kind == "guided" || kind == "runtime"))
      return note(which, loop_outcome::reachable, fmt::format("schedule({})", kind));
    if (std::string reason = why_left(which); !reason.empty()) return left(which, std::move(reason));
    if (schedule.has_value() && kind == "auto") return left(which, "schedule(auto) lets the compiler choose");
    if (schedule.has_value() && kind != "static") {
      return left(which, fmt::format("the schedule kind is '{}'; if it is a macro, its definition is elsewhere", kind));
    }
    if (!schedule.has_value() && which.find("schedule") != nullptr) return left(which, "its schedule clause is empty");
    if (schedule.has_value() && !schedule->whole->name.macro.empty())
      return left(which, fmt::format("its schedule comes from the macro {}", schedule->whole->name.macro));
    if (schedule.has_value() && !schedule->chunk.empty() && !options_.chunked)
      return left(which,
                  fmt::format("schedule(static,{}) deals out chunks in turn (--chunked includes it)", schedule->chunk));
    if (does_not_wait(which) && !options_.nowait)
      return left(which,
                  "nowait: what follows may rely on the same iterations being on the same thread (--nowait "
                  "includes it)");
    if (unawaited_line_ != 0 && !which.has_word("parallel") && !options_.nowait)
      return left(which,
                  fmt::format("the nowait loop of line {} may rely on this one sharing out the iterations in the "
                              "same way (--nowait includes both)",
                              unawaited_line_));
    if (const std::string& why = reliances_[static_cast<std::size_t>(&which - directives_.data())];
        !why.empty() && !options_.same_threads)
      return left(which, why);
    std::optional<std::vector<text_edit>> edits;
    if (schedule.has_value()) {
      edits = editor_.replace_kind(which, *schedule);
    } else if (std::optional<text_edit> edit = editor_.add_clause(which)) {
      edits.emplace({*edit});
    }
    if (!edits.has_value()) return left(which, "there is no space in its lines; break them before the clause");
    note(which, loop_outcome::changed, schedule.has_value() ? "static" : "no schedule");
    result_.edits.insert(result_.edits.end(), edits->begin(), edits->end());
  }

  rewrite_options options_;
  editor editor_;
  std::vector<directive> directives_;
  std::vector<std::string> reliances_;  // of each: why it may rely on the threads of others
  std::size_t unawaited_line_ = 0;      // of the last loop not waited for yet, or 0
  rewritten_source result_;
};

}  // namespace

std::size_t rewritten_source::count(loop_outcome outcome) const {
  return static_cast<std::size_t>(
      std::count_if(loops.begin(), loops.end(), [&](const loop_verdict& each) { return each.outcome == outcome; }));
}

rewritten_source rewrite_loops(std::string_view source, source_form form, const rewrite_options& options) {
  return rewriter(source, form, options).all();
}

}  // namespace tri::tools
