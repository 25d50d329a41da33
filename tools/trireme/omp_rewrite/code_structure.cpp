#include "omp_rewrite/code_structure.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace tri::tools {
namespace {

using name_set = std::set<std::string, std::less<>>;

constexpr int deepest_statement = 200;

const name_set& number_words() {
  static const name_set words{"int",      "long",      "short",    "char",     "signed",   "unsigned",  "double",
                              "float",    "bool",      "_Bool",    "size_t",   "int8_t",   "int16_t",   "int32_t",
                              "int64_t",  "uint8_t",   "uint16_t", "uint32_t", "uint64_t", "ptrdiff_t", "ssize_t",
                              "intptr_t", "uintptr_t", "auto",     "complex",  "_Complex", "std"};
  return words;
}
const name_set& qualifiers() {
  static const name_set words{"const",    "constexpr",     "volatile",   "static",    "thread_local",
                              "__thread", "_Thread_local", "register",   "extern",    "inline",
                              "restrict", "__restrict__",  "__restrict", "struct",    "class",
                              "union",    "enum",          "typename",   "constinit", "mutable"};
  return words;
}
const name_set& words_of_statements() {
  static const name_set words{
      "return",  "goto",      "delete",   "throw",  "case",    "default",   "break",     "continue", "else",    "using",
      "typedef", "new",       "if",       "for",    "while",   "do",        "switch",    "operator", "sizeof",  "try",
      "catch",   "namespace", "template", "public", "private", "protected", "co_return", "co_await", "co_yield"};
  return words;
}

}  // namespace

code_structure::code_structure(std::span<const token> words, std::set<std::string> number_names)
    : words_(words), number_names_(std::move(number_names)) {
  match_brackets();
  find_functions();
  find_blocks();
}

void code_structure::match_brackets() {
  partners_.assign(words_.size(), words_.size());
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < words_.size(); ++at) {
    const token& here = words_[at];
    if (here.kind != token_kind::punctuation) continue;
    if (here.is("(") || here.is("[") || here.is("{")) {
      open.push_back(at);
    } else if (here.is(")") || here.is("]") || here.is("}")) {
      const char* const opening = here.is(")") ? "(" : here.is("]") ? "[" : "{";
      // A brace closes brackets that were forgotten inside; anything else that does not fit is left out.
      if (here.is("}"))
        while (!open.empty() && !words_[open.back()].is("{")) open.pop_back();
      if (open.empty() || !words_[open.back()].is(opening)) continue;
      partners_[at] = open.back();
      partners_[open.back()] = at;
      open.pop_back();
    }
  }
}

std::size_t code_structure::behind_statement(std::size_t at) const { return behind_statement(at, 0); }

std::size_t code_structure::behind_statement(std::size_t at, int depth) const {
  const std::size_t size = words_.size();
  if (depth > deepest_statement) return size;
  const auto behind = [&](std::size_t bracket) {
    return bracket < size && partners_[bracket] > bracket && partners_[bracket] < size ? partners_[bracket] + 1 : size;
  };
  if (at >= size) return size;
  if (is(at, "{")) return behind(at);
  if (is_name(at)) {
    std::size_t bracket = at + 1;
    if (is(at, "if") && is(bracket, "constexpr")) ++bracket;
    if ((is(at, "for") || is(at, "while") || is(at, "switch") || is(at, "if")) && is(bracket, "(")) {
      const std::size_t end = behind_statement(behind(bracket), depth + 1);
      return is(at, "if") && is(end, "else") ? behind_statement(end + 1, depth + 1) : end;
    }
    if (is(at, "do")) {
      const std::size_t end = behind_statement(at + 1, depth + 1);
      return is(end, "while") && is(end + 1, "(") ? std::min(behind(end + 1) + 1, size) : end;
    }
    if (is(at, "try")) {
      std::size_t end = behind_statement(at + 1, depth + 1);
      while (is(end, "catch") && is(end + 1, "(")) end = behind_statement(behind(end + 1), depth + 1);
      return end;
    }
    if (is(at + 1, ":") && !is(at, "default")) return behind_statement(at + 2, depth + 1);  // a label
  }
  while (at < size && !is(at, ";") && !is(at, "}")) {
    const bool opens = is(at, "(") || is(at, "[") || is(at, "{");
    at = opens ? behind(at) : at + 1;
  }
  return is(at, ";") ? at + 1 : at;
}

// Functions are looked for outside of functions: the words before an opening brace determine what it begins.
void code_structure::find_functions() {
  std::size_t head = 0;
  for (std::size_t at = 0; at < words_.size();) {
    if (is(at, ";") || is(at, "}")) {
      head = ++at;
    } else if ((is(at, "(") || is(at, "[")) && partners_[at] < words_.size()) {
      at = partners_[at] + 1;
    } else if (is(at, "{")) {
      bool has_brackets = false, is_scope = false, is_list = false, is_type = false;
      for (std::size_t each = head; each < at; ++each) {
        if (is(each, "(")) has_brackets = true;
        if (is(each, "namespace") || (is(each, "extern") && words_[each + 1].kind == token_kind::string))
          is_scope = true;
        if (is(each, "class") || is(each, "struct") || is(each, "union")) is_type = true;
        if (is(each, "enum") || (is(each, "=") && !is(each + 1, "["))) is_list |= !has_brackets;
        if ((is(each, "(") || is(each, "[")) && partners_[each] < at) each = partners_[each];
      }
      if (is_scope || (is_type && !has_brackets && !is_list)) {
        head = ++at;
        continue;
      }
      if (has_brackets && !is_list) add_function(head, at);
      at = std::min(partners_[at], words_.size() - 1) + 1;
      if (has_brackets && !is_list) head = at;
    } else {
      ++at;
    }
  }
}

void code_structure::add_function(std::size_t head, std::size_t open) {
  static const name_set no_names{"__attribute__", "__declspec", "alignas", "decltype",
                                 "noexcept",      "requires",   "explicit"};
  function_code found;
  found.body = {open, std::min(partners_[open] + 1, words_.size())};
  for (std::size_t at = head; at < open; ++at) {
    if (!is(at, "(")) continue;
    const std::size_t close = std::min(partners_[at], open);
    if (at > head && is_name(at - 1) && !no_names.contains(words_[at - 1].text) &&
        !words_of_statements().contains(words_[at - 1].text)) {
      found.name = words_[at - 1].text;
      found.parameters = parameters_in({at + 1, close});
      break;
    }
    if (at > head && is(at - 1, "]")) {  // a lambda with a name
      for (std::size_t name = head; name < at; ++name)
        if (is(name + 1, "=") && is_name(name)) found.name = words_[name].text;
      found.parameters = parameters_in({at + 1, close});
      break;
    }
    at = close;
  }
  functions_.push_back(std::move(found));
}

std::vector<declared_name> code_structure::parameters_in(const extent& brackets) const {
  std::vector<declared_name> found;
  std::size_t begin = brackets.begin;
  int angles = 0;
  for (std::size_t at = brackets.begin; at <= brackets.end; ++at) {
    if (at < brackets.end) {
      if (is(at, "<")) ++angles;
      if (is(at, ">") && angles > 0) --angles;
      if ((is(at, "(") || is(at, "[")) && partners_[at] < brackets.end) at = partners_[at];
      if (!is(at, ",") || angles > 0) continue;
    }
    declared_name one{"", begin, variable_kind::object};
    bool numbers = true;
    for (std::size_t each = begin; each < at; ++each) {
      if (is(each, "=")) break;
      if (is(each, "*") || is(each, "[")) one.kind = variable_kind::pointer;
      if (is(each, "&") && one.kind == variable_kind::object) one.kind = variable_kind::reference;
      if ((is(each, "[") || is(each, "<")) && partners_[each] < at) each = partners_[each];
      if (is_name(each) && !qualifiers().contains(words_[each].text)) {
        numbers &= one.name.empty() || number_words().contains(one.name) || number_names_.contains(one.name);
        one.name = words_[each].text;
      }
    }
    if (numbers && one.kind == variable_kind::object) one.kind = variable_kind::number;
    if (begin < at) found.push_back(std::move(one));
    begin = at + 1;
  }
  if (found.size() == 1 && found[0].name == "void") found.clear();
  return found;
}

std::size_t code_structure::function_of(std::size_t at) const {
  for (std::size_t index = 0; index < functions_.size(); ++index)
    if (functions_[index].body.contains(at)) return index;
  return functions_.size();
}

void code_structure::find_blocks() {
  std::vector<std::size_t> jumps;
  for (std::size_t at = 0; at < words_.size(); ++at) {
    if (is(at, "{")) blocks_.push_back({at, std::min(partners_[at] + 1, words_.size())});
    if (!is_name(at)) continue;
    std::size_t bracket = at + 1;
    if (is(at, "if") && is(bracket, "constexpr")) ++bracket;
    const bool governs = is(at, "for") || is(at, "while") || is(at, "if") || is(at, "switch");
    if (governs && is(bracket, "(") && partners_[bracket] < words_.size()) {
      const std::size_t begin = partners_[bracket] + 1;
      const std::size_t whole_end = behind_statement(at);
      const std::size_t end = is(at, "if") ? behind_statement(begin) : whole_end;
      blocks_.push_back({begin, end});
      if (is(at, "if") && is(end, "else")) blocks_.push_back({end + 1, whole_end});
      conditions_.push_back({{bracket, begin}, {begin, whole_end}});
      if (is(at, "for") || is(at, "while")) repeated_.push_back({at, whole_end});
    } else if (is(at, "do")) {
      repeated_.push_back({at, behind_statement(at)});
    } else if (is(at, "goto")) {
      jumps.push_back(at);
    }
  }
  std::sort(blocks_.begin(), blocks_.end(),
            [](const extent& a, const extent& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  for (const std::size_t jump : jumps) {
    for (const extent& each : blocks_)
      if (each.contains(jump)) repeated_.push_back(each);
  }
  block_of_.assign(words_.size(), blocks_.size());
  std::vector<std::size_t> open;
  std::size_t next = 0;
  for (std::size_t at = 0; at < words_.size(); ++at) {
    while (!open.empty() && blocks_[open.back()].end <= at) open.pop_back();
    for (; next < blocks_.size() && blocks_[next].begin == at; ++next)
      if (blocks_[next].end > at) open.push_back(next);
    if (!open.empty()) block_of_[at] = open.back();
  }
}

bool code_structure::begins_statement(std::size_t at) const {
  if (at == 0) return true;
  const token& before = words_[at - 1];
  if (before.is(";") || before.is("{") || before.is("}") || before.is(":") || before.is("else") || before.is("do"))
    return true;
  if (before.is("("))
    return at >= 2 && (is(at - 2, "for") || is(at - 2, "if") || is(at - 2, "switch") || is(at - 2, "while"));
  if (!before.is(")") || partners_[at - 1] >= at - 1 || partners_[at - 1] == 0) return false;
  const std::size_t governing = partners_[at - 1] - 1;
  return is(governing, "for") || is(governing, "if") || is(governing, "while") || is(governing, "switch");
}

std::vector<declared_name> code_structure::declared_in(const extent& where) const {
  std::vector<declared_name> found;
  for (std::size_t at = where.begin; at < where.end; ++at)
    if (is_name(at) && begins_statement(at)) read_declaration(at, where.end, found);
  return found;
}

// type [*&] name [= value], name...;   Two names one after the other, or a name behind * or &, make a declaration.
std::size_t code_structure::read_declaration(std::size_t at, std::size_t end, std::vector<declared_name>& found) const {
  declared_name one;
  bool numbers = true;
  std::vector<std::size_t> names;  // of the type, and perhaps the declared one
  std::size_t here = at;
  for (; here < end && is_name(here); ++here) {
    const std::string& text = words_[here].text;
    if (words_of_statements().contains(text)) return here;
    if (text == "static") one.is_static = true;
    if (text == "extern") one.is_static = true;
    if (text == "thread_local" || text == "__thread" || text == "_Thread_local") one.of_thread = true;
    if (qualifiers().contains(text)) continue;
    while (is(here + 1, "::") && is_name(here + 2)) here += 2;
    names.push_back(here);
    if (is(here + 1, "<")) {  // arguments of a template
      int depth = 0;
      std::size_t behind = here + 1;
      for (; behind < end; ++behind) {
        if (is(behind, "<")) ++depth;
        if (is(behind, ">") && --depth == 0) break;
        if (is(behind, ";") || is(behind, "{") || is(behind, "}") || is(behind, "=")) return here;
      }
      if (behind == end) return here;
      here = behind;
      numbers = false;
    }
  }
  if (names.empty()) return here;
  const auto kind_before = [&](std::size_t name) {
    variable_kind kind = numbers ? variable_kind::number : variable_kind::object;
    for (std::size_t each = name; each-- > at && !is_name(each) && !is(each, ",");) {
      if (is(each, "*")) kind = variable_kind::pointer;
      if (is(each, "&")) kind = variable_kind::reference;
    }
    return kind;
  };
  std::size_t declarator = 0;
  while (here < end && (is(here, "*") || is(here, "&") || qualifiers().contains(words_[here].text))) ++here;
  const bool marked = here > names.back() + 1 && (is(here - 1, "*") || is(here - 1, "&") || is_name(here - 1));
  if (is(here, "[") && names.size() == 1 && is(names[0], "auto")) {  // auto [a, b] = ...
    for (std::size_t each = here + 1; each < std::min(partners_[here], end); ++each)
      if (is_name(each)) found.push_back({words_[each].text, each, variable_kind::object});
    return here;
  }
  if (marked && is_name(here) && !words_of_statements().contains(words_[here].text)) {
    declarator = here;
  } else if (names.size() >= 2 && here == names.back() + 1) {
    declarator = names.back();
    names.pop_back();
  } else {
    return here;
  }
  for (const std::size_t each : names)
    numbers &= number_words().contains(words_[each].text) || number_names_.contains(words_[each].text);
  while (true) {
    const std::size_t behind = declarator + 1;
    if (!is(behind, "=") && !is(behind, ";") && !is(behind, ",") && !is(behind, "[") && !is(behind, "(") &&
        !is(behind, "{") && !is(behind, ":") && !is(behind, ")"))
      return behind;
    declared_name next = one;
    next.name = words_[declarator].text;
    next.at = declarator;
    next.kind = is(behind, "[") ? variable_kind::array : kind_before(declarator);
    found.push_back(std::move(next));
    std::size_t each = behind;
    while (each < end && !is(each, ",") && !is(each, ";") && !is(each, ")") && !is(each, "}") && !is(each, ":")) {
      const bool opens = is(each, "(") || is(each, "[") || is(each, "{");
      each = opens && partners_[each] < end ? partners_[each] + 1 : each + 1;
    }
    if (each >= end || !is(each, ",")) return each;
    declarator = each + 1;
    while (declarator < end && (is(declarator, "*") || is(declarator, "&"))) ++declarator;
    if (declarator >= end || !is_name(declarator)) return declarator;
  }
}

}  // namespace tri::tools
