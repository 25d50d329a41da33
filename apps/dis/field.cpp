// Field of the DIS Stressmarks (Atlantic Aerospace, 2000; Farreras 2008, 6.5): a field of words is searched for tokens,
// one after the other; each token delimits subfields. A PE searches its own segment; a token that begins there may end
// in the next one, and is reported once, by the PE where it begins.
//   naive        word by word through the array
//   privatized   own words by plain pointers, those of the next segment through the array
//   tuned        the words of the next segment by one get, and those that change delimiters all at once
#include <fmt/format.h>

#include <utility>

#include "dis/tokens.hpp"
#include "pgas/command_line.hpp"
#include "pgas/version_table.hpp"

namespace {

class field_search {
 public:
  explicit field_search(const dis::field_settings& how)
      : how_(how), field_(tri::position<1>(how.words), tri::grid(tri::pe_count())), own_(pgas::own_block(field_)) {
    if (own_.volume() == 0) own_ = {{how.words}, {how.words}};  // behind the end: the PEs before have all of it
  }

  void prepare() {
    tri::for_each_own(field_, [&](const tri::position<1>& at, dis::letter& word) { word = how_.word_at(at[0]); });
    parts_.clear();
  }

  void naive(pgas::access_counts& counts) {
    const auto read = [&](std::int64_t i) -> dis::letter { return counts.note(field_(i)); };
    for (std::int64_t number = 0; number < how_.tokens; ++number) {
      const auto begins = search(how_.token_of(number), read);
      change(begins, read, words_ahead(begins, read), counts);
    }
  }

  void privatized(pgas::access_counts& counts) {
    const dis::letter* const data = pgas::own_data(field_);
    const auto read = [&](std::int64_t i) -> dis::letter {
      if (!own_.contains({i})) return counts.note(field_(i));
      counts.near(1);
      return data[i - own_.first[0]];
    };
    for (std::int64_t number = 0; number < how_.tokens; ++number) {
      const auto begins = search(how_.token_of(number), read);
      change(begins, read, words_ahead(begins, read), counts);
    }
  }

  void tuned(pgas::access_counts& counts) {
    const dis::letter* const data = pgas::own_data(field_);
    const std::int64_t own_last = own_.last[0], end = std::min(own_last + how_.length - 1, how_.words);
    std::vector<dis::letter> behind(static_cast<std::size_t>(end - own_last));
    const auto read = [&](std::int64_t i) -> dis::letter {
      if (i >= own_last) return behind[static_cast<std::size_t>(i - own_last)];
      counts.near(1);
      return data[i - own_.first[0]];
    };
    for (std::int64_t number = 0; number < how_.tokens; ++number) {
      field_.get({{own_last}, {end}}, behind.data()).get();
      for (std::int64_t i = own_last; i < end; ++i)
        field_.local(tri::position<1>(i)) != nullptr ? counts.near(1) : counts.far(1);
      const auto begins = search(how_.token_of(number), read);
      std::vector<tri::future<dis::letter>> asked;
      for (const std::int64_t begin : begins)
        for (std::int64_t k = 0; k < how_.length; ++k) asked.push_back(counts.note(field_(ahead(begin + k))).get());
      std::vector<dis::letter> words;
      for (auto& each : asked) words.push_back(each.get());
      change(begins, read, words, counts);
    }
  }

  void compute_sequentially() {
    std::vector<dis::letter> field;
    for (std::int64_t i = 0; i < how_.words; ++i) field.push_back(how_.word_at(i));
    const auto read = [&](std::int64_t i) { return field[static_cast<std::size_t>(i)]; };
    seconds_ = pgas::seconds_here([&] {
      for (std::int64_t number = 0; number < how_.tokens; ++number) {
        const dis::token token = how_.token_of(number);
        std::int64_t from = 0;
        const auto begins = dis::taken(candidates(token, 0, how_.words, read), how_.length, from);
        expected_.push_back(dis::subfields_of(begins, how_.length, 0, how_.words, read));
        std::vector<std::pair<std::int64_t, dis::letter>> changed;
        for (const std::int64_t begin : begins)
          for (std::int64_t i = begin; i < begin + how_.length; ++i)
            changed.emplace_back(i, how_.sum(read(i), read(ahead(i))));
        for (const auto& [at, word] : changed) field[static_cast<std::size_t>(at)] = word;
      }
    });
    expected_field_ = std::move(field);
  }
  double sequential_seconds() const { return seconds_; }

  /// PE 0 joins the subfields that PEs have found parts of, and compares them and the field with the sequential ones.
  pgas::verdict check() const {
    bool is_right = true;
    std::size_t tokens = 0;
    for (std::int64_t number = 0; number < how_.tokens; ++number) {
      const auto parts = tri::team::world().gather(parts_[static_cast<std::size_t>(number)], 0).get();
      if (tri::this_pe() != 0) continue;
      std::vector<dis::subfield> joined(1);
      for (const auto& of_pe : parts) {
        joined.back().add(of_pe.front());
        joined.insert(joined.end(), of_pe.begin() + 1, of_pe.end());
      }
      tokens += joined.size() - 1;
      is_right = is_right && joined == expected_[static_cast<std::size_t>(number)];
    }
    if (tri::this_pe() != 0) return true;
    std::vector<dis::letter> field(expected_field_.size());
    field_.get({{0}, {how_.words}}, field.data()).get();
    return {is_right && field == expected_field_, fmt::format("{} tokens found", tokens)};
  }

 private:
  std::int64_t ahead(std::int64_t i) const { return (i + how_.offset) % how_.words; }

  /// Where the token stands, from `first` to `last` (not included), overlapping ones too.
  template <class Read>
  std::vector<std::int64_t> candidates(const dis::token& token, std::int64_t first, std::int64_t last,
                                       Read&& read) const {
    std::vector<std::int64_t> found;
    for (std::int64_t at = first; at < std::min(last, how_.words - how_.length + 1); ++at) {
      std::int64_t k = 0;
      while (k < how_.length && read(at + k) == token[static_cast<std::size_t>(k)]) ++k;
      if (k == how_.length) found.push_back(at);
    }
    return found;
  }

  /// The tokens that begin in the own segment; keeps the parts of subfields in it. Which of the overlapping ones count
  /// depends on where the last token before the segment ends. That is up to length - 1 words in it: each PE says for
  /// every such case how far its tokens then reach into the next segment, and so each PE finds its own case.
  template <class Read>
  std::vector<std::int64_t> search(const dis::token& token, Read&& read) {
    const std::vector<std::int64_t> found = candidates(token, own_.first[0], own_.last[0], read);
    std::vector<std::int64_t> reach;
    for (std::int64_t covered = 0; covered < how_.length; ++covered) {
      std::int64_t from = own_.first[0] + covered;
      (void)dis::taken(found, how_.length, from);
      reach.push_back(std::max<std::int64_t>(from - own_.last[0], 0));
    }
    std::int64_t covered = 0;
    const auto of_pes = tri::team::world().allgather(std::move(reach)).get();
    for (int pe = 0; pe < tri::this_pe(); ++pe)
      covered = of_pes[static_cast<std::size_t>(pe)][static_cast<std::size_t>(covered)];
    const std::int64_t first = own_.first[0] + covered;
    std::int64_t from = first;
    std::vector<std::int64_t> begins = dis::taken(found, how_.length, from);
    parts_.push_back(dis::subfields_of(begins, how_.length, first, own_.last[0], read));
    return begins;
  }

  template <class Read>
  std::vector<dis::letter> words_ahead(const std::vector<std::int64_t>& begins, Read&& read) const {
    std::vector<dis::letter> words;
    for (const std::int64_t begin : begins)
      for (std::int64_t k = 0; k < how_.length; ++k) words.push_back(read(ahead(begin + k)));
    return words;
  }

  /// Changes the delimiters when all PEs have read what they need.
  template <class Read>
  void change(const std::vector<std::int64_t>& begins, Read&& read, const std::vector<dis::letter>& words_ahead,
              pgas::access_counts& counts) {
    std::vector<dis::letter> changed;
    for (const std::int64_t begin : begins)
      for (std::int64_t k = 0; k < how_.length; ++k)
        changed.push_back(how_.sum(read(begin + k), words_ahead[changed.size()]));
    tri::barrier().get();
    auto next = changed.begin();
    for (const std::int64_t begin : begins)
      for (std::int64_t k = 0; k < how_.length; ++k) counts.note(field_(begin + k)) = *next++;
    tri::barrier().get();
  }

  dis::field_settings how_;
  tri::global_array<dis::letter, 1> field_;
  tri::region<1> own_;
  std::vector<std::vector<dis::subfield>> parts_, expected_;  // of each token
  std::vector<dis::letter> expected_field_;
  double seconds_ = 0;
};

constexpr pgas::version<field_search> versions[] = {
    {"naive", &field_search::naive}, {"privatized", &field_search::privatized}, {"tuned", &field_search::tuned}};

int run(int argc, char** argv) {
  dis::field_settings how;
  pgas::version_choice chosen;
  pgas::command_line line("dis_field", "Field of the DIS Stressmarks: tokens are searched for in a field of words.");
  line.number("--field", how.words, 16, std::int64_t{1} << 34, "words of the field, of one byte")
      .number("--tokens", how.tokens, 1, 256, "tokens, one searched for after the other")
      .number("--length", how.length, 1, 8, "words of a token")
      .number("--letters", how.letters, 2, 256, "different words")
      .number("--offset", how.offset, 0, 65535, "from a word of a delimiter to the word that changes it")
      .number("--seed", how.seed, 0, 1 << 30, "of the random numbers")
      .versions(chosen, pgas::names_of(versions));
  if (const auto status = line.parse(argc, argv)) return *status;

  field_search kernel(how);
  pgas::version_table table(fmt::format("field of {} words, {} tokens", how.words, how.tokens), "Mwords/s",
                            static_cast<double>(how.words * how.tokens) * 1e-6);
  return pgas::run_beside_sequential(table, kernel, versions, chosen);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &run); }
