// Runs a fuzz target without a fuzzer: each seed must be taken; then each is cut off at every length and has bytes
// replaced, which must end in order. Files named as arguments are read instead, which reproduces what the fuzzer found.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "fuzz/fuzz_target.hpp"

namespace {

constexpr std::size_t most_cuts = 400;
constexpr int replaced_bytes = 400;

// Values at which a comparison of lengths goes wrong.
constexpr unsigned char edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '-', '9', '"'};

int read_files(int count, char** names) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s cannot be read; name files that a fuzzer has written\n", names[i]);
      return 2;
    }
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    std::printf("%s: %s\n", names[i], tri::fuzz::read(input) ? "taken" : "refused in order");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return read_files(argc, argv);
  const std::vector<std::string> seeds = tri::fuzz::seeds();
  std::mt19937 random(1);  // the same variations in every run
  std::size_t refused = 0;
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const std::string& seed = seeds[i];
    if (!tri::fuzz::read(seed)) {
      std::fprintf(stderr, "seed %zu of %zu is refused, but the program has written it\n", i, seeds.size());
      return 1;
    }
    const std::size_t step = std::max<std::size_t>(1, seed.size() / most_cuts);
    for (std::size_t length = 0; length < seed.size(); length += step, ++inputs)
      refused += tri::fuzz::read(std::string_view(seed).substr(0, length)) ? 0 : 1;
    for (int k = 0; k < replaced_bytes && !seed.empty(); ++k, ++inputs) {
      std::string changed = seed;
      changed[random() % changed.size()] = static_cast<char>(edges[random() % std::size(edges)]);
      refused += tri::fuzz::read(changed) ? 0 : 1;
    }
  }
  std::printf("%zu seeds taken; of %zu variations %zu refused\n", seeds.size(), inputs, refused);
  return seeds.empty() ? 1 : 0;
}
