// What the owner of elements does without others: loops over its elements beside loops over a plain array, and the
// conversion of an index into PE and offset, with its divisions done in three ways.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arrays/rows.hpp"
#include "arrays/two_pes.hpp"
#include "messages/pes.hpp"
#include "os/clock.hpp"

namespace tri::bench {
namespace {

constexpr std::int64_t side = 512;  // of a square of doubles, 2 MiB

using square = tri::global_array<double, 2>;

void by_for_each_own(const square& in, double factor) {
  tri::for_each_own(in, [=](const tri::position<2>&, double& value) { value = value * factor + 1; });
}
void by_tiles(const square& in, double factor) {
  for (const auto tile : in.own_tiles()) {
    const std::int64_t rows = tile.extent(0);
    const std::int64_t columns = tile.extent(1);
    for (std::int64_t i = 0; i < rows; ++i) {
      double* const row = &tile(i, 0);
      for (std::int64_t j = 0; j < columns; ++j) row[j] = row[j] * factor + 1;
    }
  }
}
void by_elements(const square& in, double factor) {
  for (std::int64_t i = 0; i < side; ++i)
    for (std::int64_t j = 0; j < side; ++j) in(i, j) = in(i, j) * factor + 1;
}
void by_plain_array(double* values, std::int64_t rows, std::int64_t columns, double factor) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) values[i * columns + j] = values[i * columns + j] * factor + 1;
}

// Both loops in each batch, in turn; nanoseconds of an element.
template <class Loop>
measurement beside_plain_array(context& tools, const square& own, Loop&& loop) {
  constexpr std::int64_t count = side * side;
  const auto plain = std::make_unique<double[]>(count);
  double factor = 0.999;
  std::int64_t rows = side;
  std::int64_t columns = side;
  asm volatile("" : "+x"(factor), "+r"(rows), "+r"(columns));
  std::vector<double> plain_ns;
  comparison beside{.name = "a plain array", .ratios = {}};
  measurement made;
  made.samples = tools.runner().collect([&](std::uint64_t sweeps) {
    std::int64_t of_plain = 0;
    std::int64_t of_own = 0;
    for (std::uint64_t i = 0; i < sweeps; ++i) {
      const std::int64_t start_ns = os::now_ns();
      by_plain_array(plain.get(), rows, columns, factor);
      asm volatile("" : : "r"(plain.get()) : "memory");
      const std::int64_t between_ns = os::now_ns();
      loop(own, factor);
      asm volatile("" : : : "memory");
      of_plain += between_ns - start_ns;
      of_own += os::now_ns() - between_ns;
    }
    beside.ratios.push_back(static_cast<double>(of_own) / static_cast<double>(of_plain));
    plain_ns.push_back(static_cast<double>(of_plain) / static_cast<double>(sweeps) / count);
    return batch_result{.elapsed_ns = static_cast<double>(of_own)};
  });
  for (double& ns : made.samples.operation_ns) ns /= count;
  made.peers["a plain array"] = summarize(plain_ns).median;
  made.reference = std::move(beside);
  return made;
}

// Elements at places that the compiler cannot predict.
template <class Convert>
samples time_conversions(const batch_runner& runner, Convert&& convert) {
  return runner.time([&](std::uint64_t count) {
    std::uint64_t state = 88172645463325252U;
    for (std::uint64_t i = 0; i < count; ++i) {
      state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
      const auto bits = static_cast<std::int64_t>(state >> 40);
      keep(static_cast<std::uint64_t>(convert(bits & 4095, bits >> 12)));
    }
  });
}

// Tiles of this extent in turn on 3 PEs: 3 divisions, of both coordinates by the tile and of its number by the PEs.
measurement conversion_of_indices(context& tools, std::int64_t extent) {
  const arrays::layout<2> where({4096, 4096}, tri::distribution<2>(tri::tiles(extent, extent)), {.pes = 3, .hosts = 1},
                                sizeof(double));
  measurement made;
  made.samples = time_conversions(tools.runner(), [&](std::int64_t i, std::int64_t j) {
    const arrays::place at = where.place_of({i, j});
    return at.offset + at.pe;
  });
  std::int64_t tile = extent;
  std::int64_t pes = 3;
  std::int64_t tiles_in_row = where.tiles()[1];
  asm volatile("" : "+r"(tile), "+r"(pes), "+r"(tiles_in_row));
  const samples divided = time_conversions(tools.runner(), [&](std::int64_t i, std::int64_t j) {
    const std::int64_t number = i / tile * tiles_in_row + j / tile;
    return number / pes * tile * tile + i % tile * tile + j % tile + number % pes;
  });
  made.peers["division"] = summarize(divided.operation_ns).median;
  return made;
}

}  // namespace

std::vector<row_definition> array_local_rows() {
  std::vector<row_definition> rows;
  const auto add_loop = [&](const char* name, const char* description, std::optional<double> target, std::int64_t tile,
                            void (*loop)(const square&, double)) {
    rows.push_back({.name = name,
                    .unit = "ns",
                    .target_ratio = target,
                    .handoffs = 0,
                    .description = description,
                    .measure =
                        [=](context& tools) {
                          const square own({side, side}, tri::tiles(tile, tile));
                          measurement made = beside_plain_array(tools, own, loop);
                          own.free().get();
                          return made;
                        },
                    .launch = one_pe});
  };
  add_loop("arrays/local_loop", "an element of a loop over own ones: one tile, for_each_own", 1.02, side,
           by_for_each_own);
  add_loop("arrays/local_loop/tiles64", "the same in tiles of 64 x 64", {}, 64, by_for_each_own);
  add_loop("arrays/local_loop/tile_by_tile", "the same over own_tiles(), row by row", 1.02, side, by_tiles);
  add_loop("arrays/local_loop/single_elements", "the same with a(i, j), read and written", {}, side, by_elements);
  for (const std::int64_t extent : {64, 60})
    rows.push_back({.name = std::string("arrays/index/") + (extent == 64 ? "power_of_two" : "multiplication"),
                    .unit = "ns",
                    .handoffs = 0,
                    .description = extent == 64 ? "an index becomes PE and offset, tiles of 64 x 64 on 3 PEs: shifts"
                                                : "the same, tiles of 60 x 60: multiplications in place of divisions",
                    .measure = [=](context& tools) { return conversion_of_indices(tools, extent); }});
  return rows;
}

}  // namespace tri::bench
