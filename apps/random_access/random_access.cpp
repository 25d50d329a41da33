// RandomAccess of the HPC Challenge on a global array: every PE changes random words of a table that lies on all PEs by
// exclusive or. Applied twice, the updates restore the table, which verifies them. The program runs the same updates in
// several ways and says what each of them gains (Farreras 2008, 5.2.5 and table 5.1):
//   get_put   a read, then a write: two messages and a wait where the word is on another host. Updates of two PEs at
//   the
//             same time may get lost, as the benchmark allows for one word in a hundred; in small tables more are.
//   update    one message, at the owner
//   local     the same, and a plain pointer for words of this host: neither atomic
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "trireme/arrays.hpp"

namespace {

constexpr const char* usage = R"(usage: random_access [--log2 N] [--updates N]
  --log2 N      the table has 2^N words of 8 bytes (default: 20)
  --updates N   updates for each word (default: 4)
Run it alone (./random_access --tri-pes 4) or by trireme run -n 4 ./random_access.
)";

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

enum class way { get_put, update, local };

struct settings {
  int log2 = 20;
  std::uint64_t updates_of_word = 4;
};

class benchmark {
 public:
  explicit benchmark(const settings& chosen)
      : words_(std::int64_t{1} << chosen.log2),
        table_(tri::position<1>(words_), tri::grid(tri::pe_count())),
        updates_(chosen.updates_of_word * static_cast<std::uint64_t>(words_)) {}
  ~benchmark() { table_.free().get(); }
  benchmark(const benchmark&) = delete;
  benchmark& operator=(const benchmark&) = delete;

  /// Updates of all PEs; seconds, the longest of them.
  double run(way how) {
    fill();
    const double seconds = update_all(how);
    return seconds;
  }
  /// Words that are not what they should be after the same updates once more, one way that loses none.
  std::int64_t errors() {
    update_all(way::update);
    std::int64_t wrong = 0;
    tri::for_each_own(
        table_, [&](const tri::position<1>& at, word& value) { wrong += value == static_cast<word>(at[0]) ? 0 : 1; });
    return tri::team::world().allreduce(wrong, tri::sum).get();
  }
  std::uint64_t updates() const { return updates_; }

 private:
  void fill() {
    tri::for_each_own(table_, [](const tri::position<1>& at, word& value) { value = static_cast<word>(at[0]); });
    tri::barrier().get();
  }
  double update_all(way how) {
    tri::barrier().get();
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t pes = static_cast<std::uint64_t>(tri::pe_count()),
                        own = static_cast<std::uint64_t>(tri::this_pe());
    const std::uint64_t first = updates_ * own / pes, last = updates_ * (own + 1) / pes;
    word random = number_of_stream(first);
    for (std::uint64_t i = first; i < last; ++i) {
      random = times_x(random);
      update_one(how, static_cast<std::int64_t>(random & static_cast<word>(words_ - 1)), random);
    }
    tri::barrier().get();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return tri::team::world().allreduce(took.count(), tri::maximum).get();
  }
  void update_one(way how, std::int64_t at, word value) const {
    if (how == way::update) {
      table_(at) ^= value;
    } else if (how == way::get_put) {
      table_(at) = table_(at) ^ value;
    } else if (word* const near = table_.local(tri::position<1>(at)); near != nullptr) {
      *near ^= value;
    } else {
      table_(at) ^= value;
    }
  }

  std::int64_t words_;
  tri::global_array<word, 1> table_;
  std::uint64_t updates_;
};

int number(const char* option, const char* text, int least, int most) {
  char* end = nullptr;
  const long value = text == nullptr ? least - 1L : std::strtol(text, &end, 10);
  if (text == nullptr || *end != '\0' || value < least || value > most)
    throw std::invalid_argument(std::string(option) + " is '" + (text == nullptr ? "" : text) + "'; it must be " +
                                std::to_string(least) + " to " + std::to_string(most));
  return static_cast<int>(value);
}

/// Nothing to do: --help.
bool parse(int argc, char** argv, settings& chosen) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--help" || option == "-h") return false;
    if (option == "--log2")
      chosen.log2 = number("--log2", argv[i + 1], 1, 40);
    else if (option == "--updates")
      chosen.updates_of_word = static_cast<std::uint64_t>(number("--updates", argv[i + 1], 1, 1000));
    else
      throw std::invalid_argument("unknown option '" + std::string(option) + "'; --help lists them");
  }
  return true;
}

int random_access(int argc, char** argv) {
  settings chosen;
  const bool speaks = tri::this_pe() == 0;
  try {
    if (!parse(argc, argv, chosen)) {
      if (speaks) std::fputs(usage, stdout);
      return 0;
    }
  } catch (const std::invalid_argument& error) {
    if (speaks) std::fprintf(stderr, "random_access: %s\n", error.what());
    return 2;
  }
  if ((std::int64_t{1} << chosen.log2) < tri::pe_count()) {
    if (speaks) std::fprintf(stderr, "random_access: --log2 is %d; a table needs a word for each PE\n", chosen.log2);
    return 2;
  }
  benchmark table(chosen);
  if (speaks)
    std::printf("%d PEs on %d hosts, 2^%d words, %llu updates\n%-10s %12s %10s %10s\n", tri::pe_count(),
                tri::sched::this_pe().job().hosts(), chosen.log2, static_cast<unsigned long long>(table.updates()),
                "way", "GUPS", "gain", "errors");
  double first = 0;
  bool is_right = true;
  for (const auto& [how, name, may_lose] :
       {std::tuple(way::get_put, "get_put", true), std::tuple(way::update, "update", false),
        std::tuple(way::local, "local", true)}) {
    const double seconds = table.run(how);
    const std::int64_t errors = table.errors();
    if (first == 0) first = seconds;
    is_right = is_right && (may_lose || errors == 0);
    if (speaks)
      std::printf("%-10s %12.6f %10.2f %10lld\n", name, static_cast<double>(table.updates()) / seconds * 1e-9,
                  first / seconds, static_cast<long long>(errors));
  }
  if (speaks) std::puts(is_right ? "verified" : "FAILED: updates were lost that must not be");
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &random_access); }
