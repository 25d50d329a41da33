// Which calls of the program the drop-in handled, which it passed to the MPI library, and why: reported at the end
// beside what the ranks did (rank_statistics.hpp). The counts of each rank are in shared memory, written by that rank
// alone; rank 0 reads all of them after counting has stopped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tri::mpi {

enum class left_because : std::uint32_t {
  intercepted,
  inter_communicator,
  communicator,
  window,
  reduction,
  arguments,
  another_host
};
std::string_view name_of(left_because reason);

/// Bytes that a call sends or receives, in classes.
enum class size_class : std::uint32_t { none, cell, block, large, very_large };
size_class size_class_of(std::uint64_t bytes);
std::string_view name_of(size_class size);

/// Plain memory: it is shared between processes. Names are cut to what fits.
struct call_count {
  std::array<char, 32> call{};
  std::array<char, 32> communicator{};
  size_class size = size_class::none;
  left_because reason = left_because::intercepted;
  std::uint64_t times = 0;

  std::string_view call_name() const { return call.data(); }
  std::string_view communicator_name() const { return communicator.data(); }
};

struct call_counts {
  std::uint32_t used = 0;
  std::uint64_t not_counted = 0;  // no room in the table
  std::array<call_count, 1000> all;

  std::span<const call_count> counted() const { return std::span(all).first(used); }
  /// A new one, or null without room.
  call_count* add(std::string_view call, std::string_view communicator, size_class size, left_because reason);
};

/// The same of several ranks, added up; those most often left to the library first.
std::vector<call_count> sum_of(std::span<const std::span<const call_count>> ranks);
/// By call, by size and by communicator, each with what was passed to the library and why.
std::string calls_to_table(std::span<const call_count> calls);
/// An array.
std::string calls_to_json(std::span<const call_count> calls);

}  // namespace tri::mpi
