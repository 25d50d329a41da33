// The structure of a C or C++ source without directives: functions, statements, blocks, declarations. The words are
// read without types and without headers, so it is a guess where C is ambiguous; callers decide so that a wrong guess
// leaves a loop alone. Plain values; the caller keeps the words.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "omp_rewrite/token.hpp"

namespace tri::tools {

/// Words [begin, end).
struct extent {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool contains(std::size_t at) const { return begin <= at && at < end; }
  bool contains(const extent& other) const { return begin <= other.begin && other.end <= end; }
};

enum class variable_kind : std::uint8_t { number, pointer, reference, array, object };

struct declared_name {
  std::string name;
  std::size_t at = 0;
  variable_kind kind = variable_kind::number;
  bool is_static = false;  // one for all threads
  bool of_thread = false;  // thread_local and its like
};

struct function_code {
  std::string name;
  std::vector<declared_name> parameters;
  extent body;  // from its opening bracket
};

class code_structure {
 public:
  /// `number_names`: names of types that are numbers besides those of the language.
  code_structure(std::span<const token> words, std::set<std::string> number_names);

  const std::vector<function_code>& functions() const { return functions_; }
  /// Index of the function that the word belongs to, or functions().size().
  std::size_t function_of(std::size_t at) const;

  /// Of the bracket at `at`: its partner, or the number of words.
  std::size_t partner(std::size_t at) const { return partners_[at]; }
  /// Where the statement that begins at `at` ends.
  std::size_t behind_statement(std::size_t at) const;
  /// The innermost block, or statement that a condition or a loop governs, around the word. A thread that runs its
  /// first word runs all words of its own level; index into blocks(), or blocks().size() outside of all.
  std::size_t block_of(std::size_t at) const { return at < block_of_.size() ? block_of_[at] : blocks_.size(); }
  const std::vector<extent>& blocks() const { return blocks_; }
  /// Statements that may run several times: for, while, do, and blocks with a goto.
  const std::vector<extent>& repeated() const { return repeated_; }
  /// What governs whether words run or how often: of if, for, while and switch the words in brackets, and the
  /// statement.
  struct governed {
    extent condition;
    extent statement;
  };
  const std::vector<governed>& conditions() const { return conditions_; }

  /// The declarations in the words, including inner blocks.
  std::vector<declared_name> declared_in(const extent& where) const;

 private:
  bool is(std::size_t at, const char* what) const { return at < words_.size() && words_[at].is(what); }
  bool is_name(std::size_t at) const { return at < words_.size() && words_[at].kind == token_kind::identifier; }
  std::size_t behind_statement(std::size_t at, int depth) const;
  bool begins_statement(std::size_t at) const;
  void match_brackets();
  void find_functions();
  void find_blocks();
  void add_function(std::size_t head, std::size_t open);
  std::vector<declared_name> parameters_in(const extent& brackets) const;
  std::size_t read_declaration(std::size_t at, std::size_t end, std::vector<declared_name>& found) const;

  std::span<const token> words_;
  std::set<std::string> number_names_;
  std::vector<std::size_t> partners_;
  std::vector<function_code> functions_;
  std::vector<extent> blocks_;
  std::vector<std::size_t> block_of_;
  std::vector<extent> repeated_;
  std::vector<governed> conditions_;
};

}  // namespace tri::tools
