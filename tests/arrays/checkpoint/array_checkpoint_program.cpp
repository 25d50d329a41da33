// Global arrays of every kind whose elements change from step to step, with checkpoints: the result is one of all their
// elements, and must depend neither on the numbers of PEs nor on restarts.
//
//   array_checkpoint_program FOLDER STEPS EVERY [STOP]     ends without a result after STOP steps; FOLDER may be
//   `memory` array_checkpoint_program --grid FOLDER                 writes an array over a grid of 4 PEs
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "trireme/arrays.hpp"
#include "trireme/checkpoint.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

struct triple {
  float x = 0, y = 0, z = 0;
};

struct arrays_of_job {
  global_array<double, 2> blocks;           // one tile for each PE of a grid that the layout chooses
  global_array<std::int64_t, 1> tiled;      // in turn
  global_array<std::int32_t, 3> with_halo;  // ghost cells are not in checkpoints
  global_array<triple, 2> over_grid;        // a chosen tile over a given grid
  global_array<std::uint8_t, 4> small;      // fewer tiles than PEs
  template <class Archive>
  void serialize(Archive& archive) {
    archive(blocks, tiled, with_halo, over_grid, small);
  }
};

template <class T, int N, class Change>
void change_own(const global_array<T, N>& array, Change&& change) {
  for (const local_tile<T, N> tile : array.own_tiles()) {
    const region<N> box = tile.elements();
    position<N> at;
    if (box.volume() == 0) continue;
    do {
      position<N> global = at;
      for (int d = 0; d < N; ++d) global[d] += box.first[d];
      T& element = tile.data()[arrays::dot(at, array.where().strides_in_tile())];
      element = change(element, arrays::dot(global, arrays::row_major_strides(array.extents())));
    } while (arrays::next_position(at, box.extents(), N));
  }
}

/// Changes what its PE has.
struct worker : group_member<worker> {
  static constexpr bool same_everywhere = true;
  arrays_of_job all;

  worker() = default;
  explicit worker(arrays_of_job made) : all(std::move(made)) {}
  void step() {
    change_own(all.blocks,
               [](double value, std::int64_t number) { return value * 0.75 + static_cast<double>(number % 11); });
    change_own(all.tiled, [](std::int64_t value, std::int64_t number) { return value * 31 + number + 1; });
    change_own(all.with_halo, [](std::int32_t value, std::int64_t number) {
      return static_cast<std::int32_t>((value * 7 + number) % 1000003);
    });
    change_own(all.over_grid, [](triple value, std::int64_t number) {
      return triple{value.x + 1, value.y * 0.5F + static_cast<float>(number % 5), value.z - value.x};
    });
    change_own(all.small,
               [](std::uint8_t value, std::int64_t number) { return static_cast<std::uint8_t>(value * 3 + number); });
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(all);
  }
};

struct state {
  arrays_of_job all;
  group<worker> workers;
  global_lock lock;
  global_pointer<std::int64_t> pointer;
  int step = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(all, workers, lock, pointer, step);
  }
};

template <class T, int N>
void add_to(std::uint64_t& hash, const global_array<T, N>& array) {
  std::vector<T> elements(static_cast<std::size_t>(array.size()));
  array.get(region<N>({}, array.extents()), elements.data()).get();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(elements.data());
  for (std::size_t i = 0; i < elements.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3U;
}

state begin() {
  state now;
  now.all.blocks = make_global_array<double, 2>({23, 37});
  now.all.tiled = make_global_array<std::int64_t, 1>(position<1>(1000), tiles(7));
  const auto gone = make_global_array<double, 1>(position<1>(10));
  now.all.with_halo = make_global_array<std::int32_t, 3>({9, 8, 11}, tiles(4, 3, 5), halo(1));
  now.all.over_grid = make_global_array<triple, 2>({17, 19}, grid(1, 1));
  now.all.small = make_global_array<std::uint8_t, 4>({2, 3, 2, 5}, tiles(2, 3, 2, 5));
  gone.free().get();
  now.workers = make_group<worker>(now.all);
  now.lock = global_lock::made_alone();
  now.pointer = now.all.tiled.pointer_to(position<1>(123));
  return now;
}

void write_over_grid(const std::string& folder) {
  const auto array = make_global_array<double, 2>({8, 8}, grid(2, 2));
  checkpoint(folder, array).get();
}

void run(const std::string& folder, int steps, int every, int stop) {
  const bool is_restarted = tri::is_restarted();
  state now = is_restarted ? restored_state<state>() : begin();
  if (is_restarted) {
    fmt::print("goes on from step {} with {} PEs\n", now.step, pe_count());
    std::fflush(stdout);
    // New names are none of before.
    const auto another = make_global_array<double, 1>(position<1>(5));
    const global_lock other_lock = global_lock::made_alone();
    quiescence().get();
    check(!(other_lock == now.lock), "a new lock is one of before");
    check_equal(now.all.blocks.extent(1), 37);
    another.free().get();
    quiescence().get();
  }
  for (; now.step < steps;) {
    {
      const auto held = now.lock.acquire().get();
      now.workers.broadcast<&worker::step>();
      quiescence().get();
    }
    quiescence().get();
    if (++now.step == stop) return;
    if (every == 0 || now.step % every != 0) continue;
    if (folder == "memory")
      checkpoint(in_memory, now).get();
    else
      checkpoint(folder, now).get();
  }
  check_equal(static_cast<std::int64_t>(*now.pointer), static_cast<std::int64_t>(now.all.tiled(123)));
  std::uint64_t hash = 0xcbf29ce484222325U;
  add_to(hash, now.all.blocks);
  add_to(hash, now.all.tiled);
  add_to(hash, now.all.with_halo);
  add_to(hash, now.all.over_grid);
  add_to(hash, now.all.small);
  fmt::print("result {:016x}\n", hash);
}

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** words) {
    if (count == 3 && words[1] == std::string("--grid")) return tri::testing::write_over_grid(words[2]);
    if (count < 4) throw std::runtime_error("usage: array_checkpoint_program FOLDER STEPS EVERY [STOP]");
    tri::testing::run(words[1], std::atoi(words[2]), std::atoi(words[3]), count > 4 ? std::atoi(words[4]) : -1);
  });
}
