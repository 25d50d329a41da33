// The datatypes for measuring layouts and MPI libraries, made through any class with MPI's constructors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tri::bench {

struct strided_shape {
  std::string_view name;
  std::string_view what;
  std::uint64_t count;         // instances in a message
  std::size_t memory_doubles;  // that contain them
  std::uint64_t bytes;         // packed, of all instances
};

// A block of the shape "indexed": its length and the gap before it.
struct random_block {
  int length;
  int gap;
};
template <class Action>
constexpr void for_each_random_block(Action&& action) {
  std::uint64_t random = 1;
  for (int block = 0; block < 65536; ++block) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    action(random_block{1 + static_cast<int>(random >> 62), 1 + static_cast<int>(random >> 40 & 3)});
  }
}
constexpr std::uint64_t indexed_bytes() {
  std::uint64_t bytes = 0;
  for_each_random_block([&](random_block block) { bytes += 8 * static_cast<std::uint64_t>(block.length); });
  return bytes;
}

inline constexpr std::array<strided_shape, 7> strided_shapes = {{
    {"vector_8B", "every other double, 1 MiB", 1, 262144, 1048576},
    {"vector_256B", "32 of every 64 doubles, 1 MiB", 1, 262144, 1048576},
    {"xz_plane", "rows of 1 KiB of 128^3 doubles, 128 KiB", 1, 128 * 128 * 128, 131072},
    {"yz_plane", "columns of 128^3 doubles, 128 KiB", 1, 128 * 128 * 128, 131072},
    {"box_50", "50^3 of 100^3 doubles", 1, 1000000, 1000000},
    {"indexed", "65536 blocks of 1 to 4 doubles, random gaps", 1, 65536 * 8, indexed_bytes()},
    {"records", "65536 records of 15 of 24 bytes: double, int, char[3]", 65536, 65536 * 3, 65536 * 15},
}};

/// Types has vector(count, length, stride), subarray(sizes, subsizes, starts), indexed(lengths, places), record().
template <class Types>
auto make_strided_shape(std::string_view name, Types&& types) {
  using numbers = std::vector<int>;
  if (name == "vector_8B") return types.vector(131072, 1, 2);
  if (name == "vector_256B") return types.vector(4096, 32, 64);
  if (name == "xz_plane") return types.subarray(numbers{128, 128, 128}, numbers{128, 1, 128}, numbers{0, 64, 0});
  if (name == "yz_plane") return types.subarray(numbers{128, 128, 128}, numbers{128, 128, 1}, numbers{0, 0, 64});
  if (name == "box_50") return types.subarray(numbers{100, 100, 100}, numbers{50, 50, 50}, numbers{20, 20, 20});
  if (name == "indexed") {
    numbers lengths, places;
    int place = 0;
    for_each_random_block([&](random_block block) {
      places.push_back(place + block.gap);
      lengths.push_back(block.length);
      place = places.back() + block.length;
    });
    return types.indexed(lengths, places);
  }
  return types.record();
}

}  // namespace tri::bench
