// See dense_lu.hpp.
#include "lu/dense_lu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lu/lapack.hpp"

namespace kernels {
namespace {

std::size_t checked(int value) { return value < 1 ? 0 : static_cast<std::size_t>(value); }

std::vector<double> numbers_of(const tiled_lu& lu) {
  std::vector<double> all = lu.matrix();
  for (const std::size_t row : lu.pivots()) all.push_back(static_cast<double>(row));
  return all;
}

}  // namespace

dense_lu::dense_lu(const dense_lu_size& size) : lu_(checked(size.size), checked(size.tile)) {
  lu_.fill(1);
  original_ = lu_.matrix();
}

std::string dense_lu::problem() const {
  return fmt::format("LU with partial pivoting of a dense {} x {} matrix in tiles of {}, {} kernel", lu_.size(),
                     lu_.size(), lu_.tile(), chosen_multiply().name);
}

void dense_lu::reset() { lu_.assign(original_); }

void dense_lu::run(method& how) {
  if (how.is_task_graph()) {
    run_tasks(how.static_fraction().value());
  } else {
    run_loops(how);
  }
  const std::size_t tiles = lu_.tiles();
  tri::parallel_for(tiles, [&](std::size_t column) { lu_.swap_left(column); });
}

// The loops of every step have other lengths, so each step has memories of its own.
void dense_lu::run_loops(method& how) {
  const std::size_t tiles = lu_.tiles();
  for (std::size_t step = 0; step < tiles; ++step) {
    lu_.panel(step);
    const std::size_t rest = tiles - step - 1;
    if (rest == 0) continue;
    tri::parallel_for(
        rest, [&](std::size_t column) { lu_.apply(step, step + 1 + column); }, how.loop(2 * step));
    tri::parallel_for(
        rest * rest, [&](std::size_t place) { lu_.update(step, step + 1 + place % rest, step + 1 + place / rest); },
        how.loop(2 * step + 1));
  }
}

void dense_lu::run_tasks(double static_fraction) {
  const auto workers = static_cast<std::uint32_t>(tri::loop_participants());
  lu_tasks graph(lu_, static_fraction, workers);
  tri::parallel_for(
      workers, [&](std::uint32_t number) { graph.work(number); }, "static");
}

std::vector<double> dense_lu::result() const { return numbers_of(lu_); }

void dense_lu::run_serial() {
  tiled_lu serial(lu_.size(), lu_.tile());
  serial.assign(original_);
  factor_serially(serial);
  serial_ = numbers_of(serial);
  if (lapack_name().empty()) return;
  lapack_factors_ = original_;
  lapack_pivots_ = lapack_factor(lapack_factors_, lu_.size());
}

std::vector<finding> dense_lu::check() {
  std::vector<finding> found;
  const bool same = result() == serial_;
  found.push_back(
      {same, fmt::format("factors and pivots are {} those of one thread, bit for bit", same ? "equal to" : "not")});
  const double error = factorization_error(original_, lu_, 4);
  found.push_back({error <= 1e-11, fmt::format("P A - L U is {:.1e} of the norm of A, at most 1e-11", error)});
  if (lapack_name().empty()) {
    found.push_back({true, "not compared with LAPACK: built without one (scripts/deps.sh test)"});
    return found;
  }
  double apart = 0.0;
  double largest = 0.0;
  for (std::size_t place = 0; place < lapack_factors_.size(); ++place) {
    apart = std::max(apart, std::abs(lapack_factors_[place] - lu_.matrix()[place]));
    largest = std::max(largest, std::abs(lapack_factors_[place]));
  }
  const bool same_pivots = lapack_pivots_ == lu_.pivots();
  found.push_back({same_pivots && apart <= 1e-8 * largest,
                   fmt::format("{}: {} pivots, factors differ by {:.1e} of the largest element, at most 1e-8",
                               lapack_name(), same_pivots ? "same" : "other", apart / largest)});
  return found;
}

std::vector<peer> dense_lu::peers() {
  if (lapack_name().empty()) return {};
  return {{lapack_name() + " dgetrf",
           [this] {
             lapack_threads(tri::loop_participants());
             lapack_factors_ = original_;
           },
           [this] { lapack_pivots_ = lapack_factor(lapack_factors_, lu_.size()); }}};
}

}  // namespace kernels
