// Which data of a C or C++ source is private to each thread: in parallel regions, and in functions that may be called
// from one, including their arguments. Used to judge loops (thread_data.cpp); undecidable cases count as private data.
// Plain values; the caller keeps directives and words.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "omp_rewrite/code_structure.hpp"
#include "omp_rewrite/directive.hpp"
#include "omp_rewrite/thread_data.hpp"
#include "omp_rewrite/thread_words.hpp"

namespace tri::tools {

class thread_scopes {
 public:
  thread_scopes(const std::vector<directive>& directives, const source_words& source);

  // The code between the begin and the end of data that each thread has for itself: a parallel region, or a function
  // that may be called from one.
  struct scope {
    extent where;
    std::size_t function = 0;  // index; of a region the one that contains it
    bool is_region = false;
    bool everything = false;  // unknown what is private
    std::map<std::string, variable_kind> own;
    std::map<std::string, std::string> thread_data;  // and why: part of a sentence
  };

  const code_structure& code() const { return code_; }
  const std::vector<scope>& scopes() const { return scopes_; }
  /// The code of each directive.
  const std::vector<extent>& statements() const { return statements_; }
  /// Which directives are loops.
  const std::vector<std::size_t>& loops() const { return loops_; }
  /// Whether this file has the function; and whether the word is a declaration, not a use.
  bool has_function(const std::string& name) const { return called_.contains(name); }
  bool is_declared_at(std::size_t at) const { return declared_at_.contains(at); }
  bool is_macro(const std::string& name) const { return source_.macros.contains(name); }

  bool is(std::size_t at, const char* what) const { return at < words_.size() && words_[at].is(what); }
  bool is_name(std::size_t at) const { return at < words_.size() && words_[at].kind == token_kind::identifier; }
  bool is_member(std::size_t at) const {
    return at > 0 && (is(at - 1, ".") || (at > 1 && is(at - 1, ">") && is(at - 2, "-")));
  }
  bool is_call(std::size_t at) const { return is_name(at) && is(at + 1, "("); }

  bool is_thread_word(std::size_t at) const;
  const scope* scope_of(std::size_t loop) const;
  // The innermost region around the words, or none.
  std::optional<std::size_t> region_of(const extent& where) const;
  bool in_a_loop(const scope& which, std::size_t at) const;
  bool in_a_region_inside(const scope& which, std::size_t at) const;
  bool hidden_in(std::size_t loop, const std::string& name) const { return hidden_[loop].contains(name); }
  // Whether a read at `at` in the loop sees a value left by an earlier iteration, or from before the loop.
  bool is_covered(const extent& loop, std::size_t at) const;

 private:
  // Types that this file declares as numbers.
  std::set<std::string> number_names() const;
  void collect_thread_names();
  void find_scopes();
  // Code run by one thread at a time, or by one of them: values assigned there differ between threads.
  bool in_a_turn(std::size_t at) const;
  void add_private_names(const directive& region, scope& made) const;
  // The kind of a name in a clause: as declared anywhere in the file, the worst if there are several.
  variable_kind kind_of(const std::string& name) const;
  // Names that the loop has copies of, or that each of its iterations declares.
  name_set names_hidden_in(std::size_t loop) const;
  // `name = ...` as a statement of its own or the beginning of a for: every thread that passes it has a new value.
  bool is_plain_write(std::size_t at) const;
  bool has_label(std::size_t begin, std::size_t end) const;
  // Behind the value that is assigned at `at`.
  std::size_t end_of_value(std::size_t at) const;
  // Is there something between the words that may differ from thread to thread?
  bool depends_on_thread(const scope& in, const extent& where) const;
  bool is_quiet_macro(const std::string& name) const;
  void find_thread_data(scope& which);
  // A bound of a loop is the same for all threads.
  bool is_a_bound(const scope& which, const std::string& name) const;
  // Does the word give its name a value that may differ from thread to thread?
  bool changes(const scope& which, std::size_t at) const;
  // f(.., x, ..) may change x where f takes a reference; not if it is one of those functions that are known.
  bool is_whole_argument(std::size_t at) const;
  // Notes which parameters of functions of this file get thread data. Returns whether one is new.
  bool pass_arguments(const scope& from);
  bool names_own_address(const scope& from, const extent& where) const;

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

}  // namespace tri::tools
