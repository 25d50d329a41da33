// See driver.hpp.
#include "amr/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "amr/block.hpp"
#include "amr/picture.hpp"
#include "os/clock.hpp"
#include "trireme/balance.hpp"
#include "trireme/balance_strategy.hpp"
#include "trireme/run.hpp"

namespace amr {
namespace {

/// Over the bits of all cells, seen at the finest level, row by row: the same for the same field on any mesh.
std::uint64_t checksum_of(const problem& of, const std::vector<block_state>& blocks) {
  const auto along = static_cast<std::size_t>(of.roots * of.cells) << of.most_levels;
  std::vector<double> image(along * along);
  for (const block_state& each : blocks) {
    const std::int32_t finer = 1 << (of.most_levels - each.place.level);
    const std::int32_t size = of.cells * finer;
    for (std::int32_t y = 0; y < size; ++y)
      for (std::int32_t x = 0; x < size; ++x)
        image[static_cast<std::size_t>(each.place.y * size + y) * along +
              static_cast<std::size_t>(each.place.x * size + x)] = each.cells(y / finer, x / finer);
  }
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a over words
  for (const double each : image) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &each, sizeof bits);
    sum = (sum ^ bits) * 0x100000001b3U;
  }
  return sum;
}

class driver {
 public:
  explicit driver(const options& values) : values_(values), now_(first_mesh(values.of)) {
    meshes_ = tri::make_group<mesh_keeper>();
    install();
    blocks_ = tri::make_sparse_array<block>();
    for (const block_place& each : now_.blocks()) blocks_.insert_on(pe_of(now_, each), index_of(each), meshes_);
    tri::quiescence().get();
    look_at_placement();
  }

  void run() {
    fmt::print("{:>8}{:>12}{:>9}{:>10}{:>9}{:>9}{:>20}{:>14}\n", "step", "time", "blocks", "cells", "cut", "merged",
               "mass", "error");
    const field_sums first = advance(0, 0);
    print_row(0, first);
    const std::int64_t begin = tri::os::now_ns();
    field_sums last = first;
    for (std::int64_t step = 0; step < values_.steps;) {
      const std::int64_t end = std::min(values_.steps, next_stop(step));
      last = advance(step, end - step);
      updates_ += last.cells * (end - step);
      all_blocks_ += blocks_of_all_ * (end - step);
      most_blocks_ += most_blocks_here_ * (end - step);
      step = end;
      if (step == values_.steps || is_multiple(step, values_.print_every)) print_row(step, last);
      if (step != values_.steps && is_multiple(step, values_.adapt_every)) adapt();
    }
    print_report(first, last, static_cast<double>(tri::os::now_ns() - begin) * 1e-9);
  }

 private:
  static bool is_multiple(std::int64_t step, std::int64_t every) { return every != 0 && step % every == 0; }
  /// The next step behind which something happens.
  std::int64_t next_stop(std::int64_t step) const {
    const auto behind = [step](std::int64_t every) {
      return every == 0 ? std::int64_t{1} << 62 : (step / every + 1) * every;
    };
    return std::min(behind(values_.adapt_every), behind(values_.print_every));
  }

  void install() const { meshes_.reduce<&mesh_keeper::install>(tri::sum, now_).get(); }
  field_sums advance(std::int64_t first, std::int64_t steps) const {
    return blocks_.reduce<&block::advance>(tri::ordered(tri::sum), first, steps).get();
  }

  void adapt() {
    std::vector<block_wish> wishes = blocks_.reduce<&block::wish>(tri::gather).get();
    std::vector<std::int32_t> by_number(now_.blocks().size());
    for (const block_wish& each : wishes) by_number[now_.number_of(each.place)] = each.wish;
    mesh next = now_.adapted(by_number);
    if (next == now_) return;
    for (const block_place& each : now_.blocks()) {
      if (next.has(each)) continue;
      const bool is_cut = each.level < next.most_levels() && next.has(each.child(0));
      if (is_cut) ++cut_;
      if (!is_cut && each.quarter() == 0) ++merged_;
    }
    now_ = std::move(next);
    install();
    // First the new blocks, then what old ones send to them: an index may have been used before, and only when all is
    // quiet every PE knows that it is in use again.
    blocks_.reduce<&block::create_successors>(tri::sum).get();
    tri::quiescence().get();
    blocks_.reduce<&block::leave>(tri::sum).get();
    tri::quiescence().get();
    if (!values_.balance.empty()) moved_ += tri::balance({.strategy = values_.balance}).get().moved;
    look_at_placement();
  }

  void look_at_placement() {
    most_blocks_here_ = meshes_.reduce<&mesh_keeper::blocks_here>(tri::maximum, blocks_).get();
    blocks_of_all_ = static_cast<std::int64_t>(now_.blocks().size());
  }

  void print_row(std::int64_t step, const field_sums& sums) const {
    fmt::print("{:>8}{:>12.6f}{:>9}{:>10}{:>9}{:>9}{:>20.14f}{:>14.6e}\n", step,
               static_cast<double>(step) * values_.of.time_step(), now_.blocks().size(), sums.cells, cut_, merged_,
               sums.mass, sums.error);
    std::fflush(stdout);
  }

  void print_report(const field_sums& first, const field_sums& last, double seconds) const {
    std::vector<block_state> states = blocks_.reduce<&block::state>(tri::gather).get();
    std::vector<std::int64_t> of_level(static_cast<std::size_t>(now_.most_levels()) + 1);
    for (const block_place& each : now_.blocks()) ++of_level[static_cast<std::size_t>(each.level)];
    const double whole = static_cast<double>(values_.of.roots) * values_.of.cells * (1 << values_.of.most_levels);
    fmt::print("\nblocks by level: {}\n", fmt::join(of_level, " "));
    fmt::print("{} updates of cells, {:.4f} of those of a uniform mesh; {:.3f} s, {:.2f} M/s\n", updates_,
               static_cast<double>(updates_) / std::max(1.0, whole * whole * static_cast<double>(values_.steps)),
               seconds, static_cast<double>(updates_) * 1e-6 / std::max(seconds, 1e-9));
    fmt::print(
        "blocks on the busiest PE: {:.3f} of the mean; {} have moved\n",
        all_blocks_ == 0 ? 1.0 : static_cast<double>(most_blocks_ * tri::pe_count()) / static_cast<double>(all_blocks_),
        moved_);
    fmt::print("mass changed by {:.3e}, error {:.6e}\n",
               first.mass == 0.0 ? 0.0 : std::abs(last.mass - first.mass) / std::abs(first.mass), last.error);
    fmt::print("checksum {:016x}\n", checksum_of(values_.of, states));
    if (!values_.picture.empty()) write_picture(values_.picture, values_.of, states);
  }

  const options& values_;
  mesh now_;
  tri::group<mesh_keeper> meshes_;
  tri::array<block> blocks_;
  std::int64_t cut_ = 0;
  std::int64_t merged_ = 0;
  std::int64_t updates_ = 0;
  std::int64_t blocks_of_all_ = 0;     ///< now
  std::int64_t most_blocks_here_ = 0;  ///< of a PE, now
  std::int64_t all_blocks_ = 0;        ///< sums over the steps
  std::int64_t most_blocks_ = 0;
  std::int64_t moved_ = 0;  ///< blocks, by balancing
};

}  // namespace

void simulate(const options& values) {
  if (!values.balance.empty()) static_cast<void>(tri::balancing::find_strategy(values.balance));  // throws
  the_problem.publish(values.of).get();
  driver(values).run();
}

}  // namespace amr
