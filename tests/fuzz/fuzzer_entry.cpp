// The entry points that libFuzzer calls (https://llvm.org/docs/LibFuzzer.html). Beside the options of libFuzzer the
// program has one of ours: -write_seeds=FOLDER writes the seeds into a folder, for it to begin with, and ends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "fuzz/fuzz_target.hpp"

namespace {

constexpr std::string_view write_option = "-write_seeds=";

void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : tri::fuzz::seeds()) {
    std::ofstream file(folder / ("seed" + std::to_string(number++)), std::ios::binary);
    file << seed;
    tri::fuzz::expect(file.good(), "a seed can be written to " + folder.string());
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names that libFuzzer calls
extern "C" int LLVMFuzzerInitialize(const int* count, char*** arguments) {
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (!argument.starts_with(write_option)) continue;
    write_seeds(argument.substr(write_option.size()));
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tri::fuzz::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
// NOLINTEND(readability-identifier-naming)
