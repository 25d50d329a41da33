#include "omp_rewrite/thread_data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "omp_rewrite/loop_shares.hpp"
#include "omp_rewrite/thread_scopes.hpp"

namespace tri::tools {
namespace {

constexpr std::size_t deepest_calls = 8;  // that are followed for nowait

class judge {
 public:
  judge(const std::vector<directive>& directives, const source_words& source)
      : directives_(directives), source_(source), words_(source.words), scopes_(directives, source) {}

  std::vector<std::string> all() {
    std::vector<std::string> reasons(directives_.size());
    std::vector<use> uses(directives_.size());
    for (const std::size_t loop : scopes_.loops()) {
      if (!is_static(directives_[loop])) continue;
      uses[loop] = use_of(loop);
    }
    for (const std::size_t loop : scopes_.loops())
      if (!uses[loop].what.empty() && !directives_[loop].has_word("parallel")) reasons[loop] = partner_of(loop, uses);
    for (const std::size_t loop : scopes_.loops()) {
      if (!reasons[loop].empty() || directives_[loop].has_word("parallel") || scopes_.scope_of(loop) == nullptr)
        continue;
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
  using scope = thread_scopes::scope;
  struct use {
    std::string what;       // part of a sentence; empty: none
    bool outlives = false;  // the function that contains the loop
  };
  // Whether a function of this file uses data of its thread, itself or by what it calls.
  std::string use_in_function(const std::string& name, name_set& seen) const {
    if (!seen.insert(name).second) return {};
    for (const function_code& each : code().functions()) {
      if (each.name != name) continue;
      for (std::size_t at = each.body.begin; at < each.body.end; ++at) {
        if (scopes_.is_thread_word(at)) return fmt::format("'{}', which uses '{}'", name, words_[at].text);
        if (!scopes_.is_call(at)) continue;
        if (std::string inner = use_of_call(at, seen); !inner.empty())
          return fmt::format("'{}', which calls {}", name, inner);
      }
    }
    return {};
  }
  std::string use_of_call(std::size_t at, name_set& seen) const {
    const std::string& name = words_[at].text;
    if (harmless_calls.contains(name) || scopes_.is_macro(name)) return {};
    const bool here = scopes_.has_function(name);
    if (here) return use_in_function(name, seen);
    // A method, a name of a library, a declaration here.
    if (name.starts_with("omp_") || scopes_.is_member(at) || (at > 0 && scopes_.is(at - 1, "::")) ||
        scopes_.is_declared_at(at))
      return {};
    return fmt::format("'{}', which is not in this file", name);
  }

  use use_of(std::size_t loop) const {
    const extent& where = statements()[loop];
    const scope* const in = scopes_.scope_of(loop);
    use found;
    if (in == nullptr) return found;
    for (std::size_t at = where.begin; at < where.end; ++at) {
      if (!scopes_.is_name(at)) continue;
      const std::string& name = words_[at].text;
      if (scopes_.is_thread_word(at)) return {fmt::format("uses '{}'", name), true};
      if (scopes_.is_call(at) && !in->own.contains(name)) {
        name_set seen;
        if (std::string inner = use_of_call(at, seen); !inner.empty()) return {"calls " + inner, true};
      }
      if (scopes_.is_member(at) || scopes_.hidden_in(loop, name)) continue;
      const auto data = in->thread_data.find(name);
      if (data != in->thread_data.end() && !scopes_.is_covered(where, at)) {
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
    const std::vector<declared_name>& parameters = code().functions()[function].parameters;
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const declared_name& each) { return each.name == name; });
  }
  // Why the loop, which uses thread data, may meet another one like that, or itself, in a region.
  std::string partner_of(std::size_t loop, const std::vector<use>& uses) const {
    const scope& in = *scopes_.scope_of(loop);
    const extent& where = statements()[loop];
    const auto sentence = [&](const std::string& partner) {
      return fmt::format(
          "it {}, {}: both may rely on the same iterations being on the same thread (--same-threads includes it)",
          uses[loop].what, partner);
    };
    for (const extent& each : code().repeated())
      if (in.where.contains(each) && each.contains(where) && each.begin < where.begin)
        return sentence("and may run several times in its region");
    if (!in.is_region && uses[loop].outlives)
      return sentence("and its function may be called several times in a region");
    for (const std::size_t other : scopes_.loops())
      if (other != loop && !uses[other].what.empty() && !directives_[other].has_word("parallel") &&
          scopes_.scope_of(other) == &in && share_alike(loop, other))
        return sentence(fmt::format("and so does the loop of line {}", directives_[other].line));
    for (std::size_t at = in.where.begin; at < in.where.end; ++at) {
      if (!scopes_.is_call(at) || scopes_.in_a_loop(in, at)) continue;
      name_set seen;
      if (std::string function = loop_behind(at, uses, seen); !function.empty())
        return sentence(fmt::format("and its region calls {}", function));
    }
    return {};
  }
  // A call that may lead to a loop with thread data.
  std::string loop_behind(std::size_t at, const std::vector<use>& uses, name_set& seen) const {
    const std::string& name = words_[at].text;
    if (!scopes_.has_function(name)) {
      name_set none;
      return use_of_call(at, none);
    }
    if (!seen.insert(name).second) return {};
    for (std::size_t index = 0; index < code().functions().size(); ++index) {
      const function_code& each = code().functions()[index];
      if (each.name != name) continue;
      for (const std::size_t loop : scopes_.loops())
        if (!uses[loop].what.empty() && uses[loop].outlives && !directives_[loop].has_word("parallel") &&
            each.body.contains(statements()[loop]) && !scopes_.region_of(statements()[loop]).has_value())
          return fmt::format("'{}' with the loop of line {}", name, directives_[loop].line);
      for (std::size_t inner = each.body.begin; inner < each.body.end; ++inner)
        if (scopes_.is_call(inner))
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
    const scope& in = *scopes_.scope_of(loop);
    const std::size_t begin = statements()[loop].begin;
    name_set seen;
    if (const waiting found = last_in(in, {in.where.begin, begin}, loop, true, seen); found.line != 0)
      return found.line;
    for (const extent& each : code().repeated()) {
      if (!in.where.contains(each) || !each.contains(begin) || each.begin == begin) continue;
      name_set none;
      if (last_in(in, {each.begin, begin}, loop, false, none).decided) continue;
      if (const waiting found = last_in(in, {begin, each.end}, loop, false, none); found.line != 0) return found.line;
    }
    return 0;
  }
  // The last one in the words. `upwards`: if none, the last one before the calls of the function.
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
          scopes_.in_a_region_inside(in, each.place))
        continue;
      if (each.words.front() == "barrier") note(each.place, {true, 0});
      if (!each.is_loop() || each.has_word("parallel") || statements()[index].end > where.end) continue;
      const bool counts = does_not_wait(each) && is_static(each) && share_alike(index, loop);
      if (counts || !does_not_wait(each)) note(statements()[index].end, {true, counts ? each.line : 0});
    }
    for (std::size_t at = where.begin; at < where.end && at < words_.size(); ++at) {
      if (!scopes_.is_call(at) || !scopes_.has_function(words_[at].text) || scopes_.in_a_region_inside(in, at))
        continue;
      const std::string call = "in " + words_[at].text;
      if (seen.size() > deepest_calls || !seen.insert(call).second) continue;
      for (const scope& each : scopes_.scopes()) {
        if (each.is_region || code().functions()[each.function].name != words_[at].text) continue;
        if (const waiting inner = last_in(each, each.where, loop, false, seen); inner.decided) note(at, inner);
      }
      seen.erase(call);
    }
    if (last.decided || !upwards || in.is_region) return last;
    const std::string& name = code().functions()[in.function].name;
    if (!seen.insert("to " + name).second) return {};
    for (std::size_t at = 0; at < words_.size(); ++at) {
      if (!scopes_.is_call(at) || words_[at].text != name) continue;
      const scope* caller = nullptr;
      for (const scope& each : scopes_.scopes())
        if (each.where.contains(at) && (caller == nullptr || caller->where.contains(each.where))) caller = &each;
      if (caller == nullptr) continue;
      if (const waiting found = last_in(*caller, {caller->where.begin, at}, loop, true, seen); found.line != 0)
        return found;
    }
    return {};
  }

  bool share_alike(std::size_t a, std::size_t b) const {
    return tools::share_alike({directives_[a], statements()[a]}, {directives_[b], statements()[b]}, source_, code());
  }
  const code_structure& code() const { return scopes_.code(); }
  const std::vector<extent>& statements() const { return scopes_.statements(); }

  const std::vector<directive>& directives_;
  const source_words& source_;
  const std::vector<token>& words_;
  const thread_scopes scopes_;
};

}  // namespace

std::vector<std::string> reliances(const std::vector<directive>& directives, const source_words& source) {
  return judge(directives, source).all();
}

}  // namespace tri::tools
