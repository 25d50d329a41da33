// Jacobi's method on a plate: each element becomes the mean of its four neighbours, but for the edge, which stays
// (Farreras 2008, 5.3.7). One block for each PE; most neighbours are in the own block.
//   naive        every access through the array
//   privatized   plain pointers where an element and its neighbours lie in the own block; on its border the array
//   tuned        the border of the neighbouring blocks by four gets, on their way while the inner elements are computed
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "pgas/command_line.hpp"
#include "pgas/version_table.hpp"

namespace {

/// at(i, j) is an element of the old plate.
template <class At>
double mean(const At& at, std::int64_t i, std::int64_t j) {
  return (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1)) / 4;
}

/// f(i, j) for the elements of a box that have a neighbour outside of it.
template <class F>
void for_each_on_border(const tri::region<2>& box, F&& f) {
  for (std::int64_t i = box.first[0]; i < box.last[0]; ++i) {
    const bool is_whole_row = i == box.first[0] || i + 1 == box.last[0];
    const std::int64_t step = is_whole_row ? 1 : std::max<std::int64_t>(box.extents()[1] - 1, 1);
    for (std::int64_t j = box.first[1]; j < box.last[1]; j += step) f(i, j);
  }
}

/// The elements around a box, as far as the plate goes.
class halo {
 public:
  halo(const tri::global_array<double, 2>& plate, const tri::region<2>& box) {
    const auto [first, last] = std::pair(box.first, box.last);
    const tri::region<2> sides[] = {{{first[0] - 1, first[1]}, {first[0], last[1]}},
                                    {{last[0], first[1]}, {last[0] + 1, last[1]}},
                                    {{first[0], first[1] - 1}, {last[0], first[1]}},
                                    {{first[0], last[1]}, {last[0], last[1] + 1}}};
    for (const tri::region<2>& side : sides) {
      side_& made = sides_.emplace_back(side.intersection({{0, 0}, plate.extents()}));
      made.values.resize(static_cast<std::size_t>(made.box.volume()));
      made.arrived = plate.get(made.box, made.values.data());
    }
  }
  void wait(pgas::access_counts& counts, const tri::global_array<double, 2>& plate) {
    for (side_& side : sides_) {
      side.arrived.get();
      if (side.box.volume() == 0) continue;
      plate.local(side.box.first) != nullptr ? counts.near(side.box.volume()) : counts.far(side.box.volume());
    }
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    for (const side_& side : sides_)
      if (side.box.contains({i, j}))
        return side.values[static_cast<std::size_t>(i - side.box.first[0] + j - side.box.first[1])];  // one is 0
    return 0;
  }

 private:
  struct side_ {
    explicit side_(const tri::region<2>& of) : box(of) {}
    tri::region<2> box;
    std::vector<double> values;
    tri::future<void> arrived;
  };
  std::vector<side_> sides_;
};

class stencil {
 public:
  stencil(std::int64_t n, std::int64_t steps) : n_(n), steps_(steps), now_({n, n}), next_({n, n}) {}

  void prepare() {
    tri::for_each_own(now_, [](const tri::position<2>& at, double& heat) { heat = heat_at(at[0], at[1]); });
  }

  void naive(pgas::access_counts& counts) {
    for_each_step([&](const tri::local_tile<double, 2>& tile) {
      const auto at = [&](std::int64_t i, std::int64_t j) -> double { return counts.note(now_(i, j)); };
      const tri::region<2> box = tile.elements();
      for (std::int64_t i = box.first[0]; i < box.last[0]; ++i)
        for (std::int64_t j = box.first[1]; j < box.last[1]; ++j)
          counts.note(next_(i, j)) = is_edge(i, j) ? at(i, j) : mean(at, i, j);
    });
  }

  void privatized(pgas::access_counts& counts) {
    for_each_step([&](const tri::local_tile<double, 2>& tile) {
      compute_inner(tile, counts);
      const auto at = [&](std::int64_t i, std::int64_t j) -> double { return counts.note(now_(i, j)); };
      for_each_on_border(tile.elements(), [&](std::int64_t i, std::int64_t j) {
        counts.note(next_(i, j)) = is_edge(i, j) ? at(i, j) : mean(at, i, j);
      });
    });
  }

  void tuned(pgas::access_counts& counts) {
    for_each_step([&](const tri::local_tile<double, 2>& tile) {
      const tri::region<2> box = tile.elements();
      halo around(now_, box);
      compute_inner(tile, counts);
      around.wait(counts, now_);
      const double* const old = now_.local(box.first);
      const auto at = [&](std::int64_t i, std::int64_t j) {
        if (!box.contains({i, j})) return around(i, j);
        counts.near(1);
        return old[(i - box.first[0]) * tile.leading_dimension() + j - box.first[1]];
      };
      for_each_on_border(box, [&](std::int64_t i, std::int64_t j) {
        tile(i - box.first[0], j - box.first[1]) = is_edge(i, j) ? at(i, j) : mean(at, i, j);
        counts.near(1);
      });
    });
  }

  /// What PE 0 compares the plate with.
  void compute_sequentially() {
    std::vector<double> next(static_cast<std::size_t>(n_ * n_));
    expected_.resize(next.size());
    const auto place = [this](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * n_ + j); };
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) expected_[place(i, j)] = heat_at(i, j);
    next = expected_;  // the edge stays
    const auto at = [&](std::int64_t i, std::int64_t j) { return expected_[place(i, j)]; };
    for (std::int64_t step = 0; step < steps_; ++step) {
      for (std::int64_t i = 1; i < n_ - 1; ++i)
        for (std::int64_t j = 1; j < n_ - 1; ++j) next[place(i, j)] = mean(at, i, j);
      std::swap(expected_, next);
    }
  }
  /// To the bit: each element is computed alike.
  pgas::verdict check() const {
    if (tri::this_pe() != 0) return true;
    std::vector<double> row(static_cast<std::size_t>(n_));
    for (std::int64_t i = 0; i < n_; ++i) {
      now_.get({{i, 0}, {i + 1, n_}}, row.data()).get();
      if (!std::equal(row.begin(), row.end(), expected_.begin() + i * n_)) return false;
    }
    return true;
  }

 private:
  static double heat_at(std::int64_t i, std::int64_t j) { return static_cast<double>((i * 31 + j * 17) % 101); }
  bool is_edge(std::int64_t i, std::int64_t j) const { return i == 0 || j == 0 || i == n_ - 1 || j == n_ - 1; }

  template <class F>
  void for_each_step(F&& compute_tile) {
    for (std::int64_t step = 0; step < steps_; ++step) {
      for (const tri::local_tile<double, 2> tile : next_.own_tiles()) compute_tile(tile);
      tri::barrier().get();
      std::swap(now_, next_);  // two handles
    }
  }
  /// The elements whose neighbours are in the same tile; both plates are dealt alike.
  void compute_inner(const tri::local_tile<double, 2>& tile, pgas::access_counts& counts) const {
    const std::int64_t width = tile.leading_dimension();
    const double* const old = now_.local(tile.elements().first);
    for (std::int64_t i = 1; i < tile.extent(0) - 1; ++i) {
      double* const to = tile.data() + i * width;
      const double* const from = old + i * width;
      for (std::int64_t j = 1; j < tile.extent(1) - 1; ++j)
        to[j] = (from[j - width] + from[j + width] + from[j - 1] + from[j + 1]) / 4;
    }
    counts.near(5 * std::max<std::int64_t>(tile.extent(0) - 2, 0) * std::max<std::int64_t>(tile.extent(1) - 2, 0));
  }

  std::int64_t n_, steps_;
  tri::global_array<double, 2> now_, next_;
  std::vector<double> expected_;
};

constexpr pgas::version<stencil> versions[] = {
    {"naive", &stencil::naive}, {"privatized", &stencil::privatized}, {"tuned", &stencil::tuned}};

int run(int argc, char** argv) {
  std::int64_t n = 1024, steps = 10;
  pgas::version_choice chosen;
  pgas::command_line line("stencil", "Jacobi's method on a plate that is a global array.");
  line.number("--size", n, 1, 1 << 20, "the plate has N x N elements")
      .number("--steps", steps, 1, 1 << 20, "steps")
      .versions(chosen, pgas::names_of(versions));
  if (const auto status = line.parse(argc, argv)) return *status;

  stencil kernel(n, steps);
  pgas::version_table table(fmt::format("{} steps of {} x {} elements", steps, n, n), "M/s",
                            static_cast<double>(n * n * steps) * 1e-6);
  if (tri::this_pe() == 0) table.sequential(pgas::seconds_here([&] { kernel.compute_sequentially(); }));
  return pgas::run_versions(table, kernel, versions, chosen);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &run); }
