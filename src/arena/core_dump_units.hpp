// The parts of a large sparse mapping that go into a core file. To write one the kernel reads every page of a shared
// mapping, and thereby allocates its holes: a crash of a process with a window of 64 GiB would need that much memory.
// So the whole mapping is excluded from core files (MADV_DONTDUMP), and its owner includes memory that it hands out, in
// large units, and excludes it again when returned to the system. A unit is dumped in full, so at most the rest of the
// units at the borders of used memory is filled needlessly.
//
// The kernel merges neighbours with the same setting into one mapping; few ranges are excluded again, and only large
// ones, so that the number of mappings stays far below vm.max_map_count. A refused request affects only the content of
// core files and is not reported.
//
// Not thread-safe: the owner's lock protects it. It allocates nothing and throws nothing: an allocator may use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tri::arena {

class core_dump_units {
 public:
  /// Leaves out all of the mapping. `start` and `bytes` are multiples of a page; the mapping outlives this object.
  core_dump_units(std::byte* start, std::size_t bytes);
  core_dump_units(const core_dump_units&) = delete;
  core_dump_units& operator=(const core_dump_units&) = delete;

  /// From now on core files hold these bytes of the mapping. Cheap when they do already.
  void take_in(const void* first, std::size_t bytes);
  /// These bytes have no memory any more: the whole units among them are left out, if they are many enough.
  void leave_out(const void* first, std::size_t bytes);

  std::size_t unit_bytes() const { return unit_bytes_; }
  /// Bytes of the mapping that core files hold now.
  std::size_t dumped_bytes() const;

 private:
  static constexpr std::size_t most_units = 65536;
  static constexpr std::size_t smallest_unit_bytes = std::size_t{1} << 20;
  static constexpr std::size_t fewest_left_out = 4;  // units

  bool is_taken_in(std::size_t unit) const { return (taken_in_[unit / 64] >> (unit % 64) & 1) != 0; }
  void advise(std::size_t first_unit, std::size_t last_unit, bool dumped);
  std::byte* const start_;
  const std::size_t bytes_;
  const std::size_t unit_bytes_;
  std::array<std::uint64_t, most_units / 64> taken_in_{};
};

}  // namespace tri::arena
