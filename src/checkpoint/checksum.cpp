#include "checkpoint/checksum.hpp"

#include <bit>
#include <cstring>

namespace tri::checkpoint_files {
namespace {

static_assert(std::endian::native == std::endian::little, "files of a checkpoint have little-endian numbers");

// An odd number without a pattern, and splitmix64's mixer (Steele, Lea, Flood 2014) at the end.
constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;

// Every bit of the word reaches half of the bits of the lane: the product carries changes upwards, and its upper half
// has those of the highest bits.
std::uint64_t mixed(std::uint64_t lane, std::uint64_t word) {
  const unsigned __int128 product = static_cast<unsigned __int128>(lane ^ word) * factor;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ std::rotl(lane, 23);
}

std::uint64_t finished(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t word_at(const unsigned char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

std::uint64_t checksum(const void* bytes, std::size_t count, std::uint64_t before) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  // Four lanes, because a multiplication takes three cycles and one can begin in each.
  std::uint64_t lanes[4] = {before + 1, before + 2, before + 3, before + 4};
  std::size_t left = count;
  for (; left >= 32; left -= 32, at += 32)
    for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] = mixed(lanes[lane], word_at(at + 8 * lane));
  for (int lane = 0; left >= 8; left -= 8, at += 8, ++lane) lanes[lane] = mixed(lanes[lane], word_at(at));
  std::uint64_t last = 0;
  if (left != 0) std::memcpy(&last, at, left);
  std::uint64_t sum = mixed(count, last);
  for (const std::uint64_t lane : lanes) sum = mixed(sum, finished(lane));
  return finished(sum);
}

}  // namespace tri::checkpoint_files
