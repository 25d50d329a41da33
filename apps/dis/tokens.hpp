// What Field searches for, and what it finds. The rules, for both the sequential program and PEs with segments:
//   - tokens are taken from the front, and do not overlap each other
//   - between them are subfields, of which the words are counted, added up, and the least is kept
//   - behind the search for a token each word of its delimiters gets added the word `offset` further on, round the end,
//     as both were before
// The suite's sample program changes delimiters while it searches, so that words read round the end may have been
// changed already; that order cannot be kept by PEs that search at the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dis/random_words.hpp"

namespace dis {

using letter = std::uint8_t;
using token = std::vector<letter>;

/// The parameters of the suite, but that the tokens are random.
struct field_settings {
  std::int64_t words = 1 << 18;  // of the field (f)
  std::int64_t tokens = 4;       // (n)
  std::int64_t length = 3;       // of a token
  std::int64_t letters = 16;     // words and tokens are below; 256 in the suite
  std::int64_t offset = 1000;    // (mod_offset)
  std::int64_t seed = 1;
  letter word_at(std::int64_t i) const { return static_cast<letter>(random_word(seed, i, letters)); }
  token token_of(std::int64_t number) const {
    token made;
    for (std::int64_t k = 0; k < length; ++k)
      made.push_back(static_cast<letter>(random_word(~seed, number * length + k, letters)));
    return made;
  }
  letter sum(letter a, letter b) const { return static_cast<letter>((a + b) % letters); }
};

/// The words between two delimiters.
struct subfield {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t least = 256;
  void add(letter word) {
    ++count;
    sum += word;
    least = std::min<std::int64_t>(least, word);
  }
  void add(const subfield& more) {
    count += more.count;
    sum += more.sum;
    least = std::min(least, more.least);
  }
  friend bool operator==(const subfield&, const subfield&) = default;
};

/// Where tokens begin in a segment, of those candidates that do not overlap one taken before. `from` is the first word
/// that no token before the segment covers; set to the first one behind the last token.
inline std::vector<std::int64_t> taken(const std::vector<std::int64_t>& candidates, std::int64_t length,
                                       std::int64_t& from) {
  std::vector<std::int64_t> begins;
  for (const std::int64_t at : candidates) {
    if (at < from) continue;
    begins.push_back(at);
    from = at + length;
  }
  return begins;
}

/// The subfields of the words from `from` to `last`, one more than tokens; read(i) is a word.
template <class Read>
std::vector<subfield> subfields_of(const std::vector<std::int64_t>& begins, std::int64_t length, std::int64_t from,
                                   std::int64_t last, Read&& read) {
  std::vector<subfield> found(1);
  for (const std::int64_t begin : begins) {
    for (; from < begin; ++from) found.back().add(read(from));
    from = begin + length;
    found.emplace_back();
  }
  for (; from < last; ++from) found.back().add(read(from));
  return found;
}

}  // namespace dis
