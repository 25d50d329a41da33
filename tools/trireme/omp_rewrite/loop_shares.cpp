#include "omp_rewrite/loop_shares.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tri::tools {
namespace {

struct iterations {
  bool known = false;
  long count = 0;
};

// A number that is written down, or a macro of this file for one.
std::optional<long> number_of(const source_words& source, const extent& where) {
  if (where.end != where.begin + 1) return std::nullopt;
  std::string text = source.words[where.begin].text;
  for (int depth = 0; depth < 8; ++depth) {
    const auto known = source.macros.find(text);
    if (known == source.macros.end() || known->second.size() != 1) break;
    text = known->second[0].text;
  }
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;  // octal
  return value;
}

// for (i = A; i < B; i++) with numbers for A and B.
iterations iterations_of(const shared_loop& loop, const source_words& source, const code_structure& code) {
  const std::vector<token>& words = source.words;
  const auto is = [&](std::size_t at, const char* what) { return at < words.size() && words[at].is(what); };
  const auto is_name = [&](std::size_t at) { return at < words.size() && words[at].kind == token_kind::identifier; };
  const extent& where = loop.where;
  if (loop.which.find("collapse") != nullptr || !is(where.begin, "for") || !is(where.begin + 1, "(")) return {};
  const std::size_t close = code.partner(where.begin + 1);
  std::vector<std::size_t> ends;
  for (std::size_t at = where.begin + 2; at < close && at < where.end; ++at)
    if (is(at, ";")) ends.push_back(at);
  if (ends.size() != 2 || close >= where.end) return {};
  std::size_t equals = where.begin + 2;
  while (equals < ends[0] && !is(equals, "=")) ++equals;
  if (equals == where.begin + 2 || !is_name(equals - 1)) return {};
  const std::string& variable = words[equals - 1].text;
  std::size_t at = ends[0] + 1;
  if (!is(at, variable.c_str()) || !is(at + 1, "<")) return {};
  const bool with_last = is(at + 2, "=");
  const std::optional<long> first = number_of(source, {equals + 1, ends[0]});
  const std::optional<long> last = number_of(source, {at + (with_last ? 3 : 2), ends[1]});
  const std::size_t step = ends[1] + 1;
  const bool by_one = close == step + 3 && ((is(step, variable.c_str()) && is(step + 1, "+") && is(step + 2, "+")) ||
                                            (is(step, "+") && is(step + 1, "+") && is(step + 2, variable.c_str())));
  if (!first.has_value() || !last.has_value() || !by_one || *last < *first) return {};
  return {true, *last - *first + (with_last ? 1 : 0)};
}

std::string chunk_of(const directive& which) {
  std::string chunk;
  const clause* const schedule = which.find("schedule");
  if (schedule == nullptr) return chunk;
  const auto comma = std::find_if(schedule->arguments.begin(), schedule->arguments.end(),
                                  [](const token& each) { return each.is(","); });
  if (comma != schedule->arguments.end())
    for (auto each = comma + 1; each != schedule->arguments.end(); ++each) chunk += each->text;
  return chunk;
}

}  // namespace

bool is_static(const directive& which) {
  const clause* const schedule = which.find("schedule");
  if (schedule == nullptr) return true;
  return std::none_of(schedule->arguments.begin(), schedule->arguments.end(), [](const token& word) {
    return word.is("dynamic") || word.is("guided") || word.is("runtime") || word.is("auto");
  });
}

bool share_alike(const shared_loop& a, const shared_loop& b, const source_words& source, const code_structure& code) {
  const iterations of_a = iterations_of(a, source, code), of_b = iterations_of(b, source, code);
  if (of_a.known && of_b.known && of_a.count != of_b.count) return false;
  return chunk_of(a.which).empty() == chunk_of(b.which).empty();
}

}  // namespace tri::tools
