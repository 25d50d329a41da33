// RandomAccess of the HPC Challenge on a global array: every PE changes random words of a table that lies on all PEs by
// exclusive or. Applied twice, the updates restore the table, which verifies them. The versions are those of Farreras
// 2008, table 5.1:
//   none       a read, then a write: two messages and a wait where the word is on another host
//   locality   the same, by a plain pointer for words of this host
//   update     one message, at the owner
//   all        one message, and for words of this host a pointer from the addresses of all its blocks
// Updates of two PEs at the same time may get lost but for `update`, as the benchmark allows for one word in a hundred;
// in small tables more are.
#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <vector>

#include "pgas/command_line.hpp"
#include "pgas/version_table.hpp"

namespace {

using word = std::uint64_t;

// The stream of the benchmark: each number is the one before, shifted, in the field GF(2)[x] / (x^64 + x^2 + x + 1).
constexpr word polynomial = 7;
word times_x(word a) { return (a << 1) ^ ((a >> 63) != 0 ? polynomial : 0); }
word product(word a, word b) {
  word sum = 0;
  for (; b != 0; b >>= 1, a = times_x(a))
    if ((b & 1) != 0) sum ^= a;
  return sum;
}
/// Number n of the stream, without those before it: x^n by squaring.
word number_of_stream(std::uint64_t n) {
  word power = 1, square = 2;
  for (; n != 0; n >>= 1, square = product(square, square))
    if ((n & 1) != 0) power = product(power, square);
  return power;
}

class benchmark {
 public:
  benchmark(std::int64_t words, std::int64_t updates_of_word)
      : words_(words),
        table_(tri::position<1>(words), tri::grid(tri::pe_count())),
        updates_(static_cast<std::uint64_t>(updates_of_word * words)) {}
  std::uint64_t updates() const { return updates_; }

  void prepare() {
    tri::for_each_own(table_, [](const tri::position<1>& at, word& value) { value = static_cast<word>(at[0]); });
    may_lose_ = true;
  }

  void none(pgas::access_counts& counts) {
    for_each_update([&](std::int64_t at, word value) { counts.note(table_(at)) = counts.note(table_(at)) ^ value; });
  }
  void locality(pgas::access_counts& counts) {
    for_each_update([&](std::int64_t at, word value) {
      word* const near = table_.local(tri::position<1>(at));
      if (near == nullptr) {
        counts.note(table_(at)) = counts.note(table_(at)) ^ value;
      } else {
        counts.near(2);
        *near ^= value;
      }
    });
  }
  void update(pgas::access_counts& counts) {
    may_lose_ = false;
    for_each_update([&](std::int64_t at, word value) { counts.note(table_(at)) ^= value; });
  }
  void all(pgas::access_counts& counts) {
    // A block is a power of two where the PEs are: then a shift finds its owner.
    const std::int64_t block = table_.tile()[0];
    const bool shifts = std::has_single_bit(static_cast<std::uint64_t>(block));
    const int bits = std::countr_zero(static_cast<std::uint64_t>(block));
    std::vector<word*> blocks;
    for (std::int64_t first = 0; first < words_; first += block)
      blocks.push_back(table_.local(tri::position<1>(first)));
    for_each_update([&](std::int64_t at, word value) {
      const std::int64_t owner = shifts ? at >> bits : at / block;
      word* const near = blocks[static_cast<std::size_t>(owner)];
      if (near == nullptr) {
        counts.note(table_(at)) ^= value;
      } else {
        counts.near(1);
        near[at - owner * block] ^= value;
      }
    });
  }

  /// Runs the updates once more, in the way that loses none, and counts the words that are not restored.
  pgas::verdict check() {
    pgas::access_counts not_timed;
    const bool may_lose = may_lose_;
    tri::barrier().get();
    update(not_timed);
    tri::barrier().get();
    std::int64_t own = 0;
    tri::for_each_own(
        table_, [&](const tri::position<1>& at, word& value) { own += value == static_cast<word>(at[0]) ? 0 : 1; });
    const std::int64_t errors = tri::team::world().allreduce(own, tri::sum).get();
    return {may_lose || errors == 0, fmt::format("{} words differ", errors)};
  }

 private:
  template <class F>
  void for_each_update(F&& change) const {
    const auto pes = static_cast<std::uint64_t>(tri::pe_count()), own = static_cast<std::uint64_t>(tri::this_pe());
    const std::uint64_t first = updates_ * own / pes, last = updates_ * (own + 1) / pes;
    word random = number_of_stream(first);
    for (std::uint64_t i = first; i < last; ++i) {
      random = times_x(random);
      change(static_cast<std::int64_t>(random & static_cast<word>(words_ - 1)), random);
    }
  }

  std::int64_t words_;
  tri::global_array<word, 1> table_;
  std::uint64_t updates_;
  bool may_lose_ = true;
};

constexpr pgas::version<benchmark> versions[] = {{"none", &benchmark::none},
                                                 {"locality", &benchmark::locality},
                                                 {"update", &benchmark::update},
                                                 {"all", &benchmark::all}};

int random_access(int argc, char** argv) {
  std::int64_t log2 = 20, updates_of_word = 4;
  pgas::version_choice chosen;
  pgas::command_line line("random_access", "RandomAccess of the HPC Challenge on a global array.");
  line.number("--log2", log2, 1, 40, "the table has 2^N words of 8 bytes")
      .number("--updates", updates_of_word, 1, 1000, "updates for each word")
      .versions(chosen, pgas::names_of(versions));
  if (const auto status = line.parse(argc, argv)) return *status;
  const std::int64_t words = std::int64_t{1} << log2;
  if (words < tri::pe_count())
    return line.refuse(fmt::format("--log2 is {}; a table needs a word for each of {} PEs", log2, tri::pe_count()));
  benchmark kernel(words, updates_of_word);
  pgas::version_table table(fmt::format("{} updates of 2^{} words", kernel.updates(), log2), "GUPS",
                            static_cast<double>(kernel.updates()) * 1e-9);
  return pgas::run_versions(table, kernel, versions, chosen);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &random_access); }
