// loop_slabs: 3-D Jacobi in slabs that are objects, on any number of PEs and processes. A step has an exchange and two
// compute phases: planes for the neighbours are sent, the inner planes are relaxed while they travel, then the two
// outer ones. Loops inside a slab are shared with idle PEs of its process always, never, or only when a PE is idle at
// that moment (`--loops`). After V. Kale's model problem (dissertation, Illinois 2015, chapter 2) and the experiment
// with loops inside a message-driven program in C. Mei's (Illinois 2012, chapter 5). Slabs may be of unequal thickness.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>
#include <optional>
#include <vector>

#include "grids/seven_points.hpp"
#include "slab_options.hpp"
#include "trireme/loops.hpp"
#include "trireme/objects.hpp"

namespace {

using namespace kernels;

// Of all bits of a number of planes; xor of parts is that of the whole.
std::uint64_t fingerprint_of(const double* points, std::size_t count, std::size_t first) {
  std::uint64_t all = 0;
  for (std::size_t index = 0; index < count; ++index) {
    std::uint64_t mixed = (std::bit_cast<std::uint64_t>(points[index]) ^ (first + index) * 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
    all ^= mixed ^ (mixed >> 32);
  }
  return all;
}

class Slab : public tri::array_element<Slab, tri::index<1>> {
 public:
  Slab(slab_problem whole, std::string schedule)
      : whole_(whole), schedule_(schedule), first_(whole.planes_of(this_index()[0]).first) {
    count_ = whole.planes_of(this_index()[0]).second - first_;
    const std::size_t points = static_cast<std::size_t>(count_ + 2) * plane_points(whole_.side);
    now_.resize(points);
    source_.resize(points);
    for (int plane = 0; plane < count_ + 2; ++plane) {
      double* now = at(now_, plane);
      double* source = at(source_, plane);
      for (int row = 0; row < whole_.side + 2; ++row) {
        for (int column = 0; column < whole_.side + 2; ++column) {
          *now++ = initial_value(first_ + plane - 1, row, column);
          *source++ = source_value(first_ + plane - 1, row, column);
        }
      }
    }
    next_ = now_;
  }

  // A plane of a neighbour, for a step; it is copied in when run() awaits that step.
  void ghost(int step, bool below, tri::buffer<double> plane) {
    (void)step;
    std::copy(plane.begin(), plane.end(), at(now_, below ? 0 : count_ + 1));
  }

  tri::task<std::uint64_t> run() {
    const int me = this_index()[0];
    for (int step = 0; step < whole_.steps; ++step) {
      std::size_t neighbours = 0;
      if (me > 0) neighbours += send_plane(1, me - 1, step, false);
      if (me + 1 < whole_.slabs) neighbours += send_plane(count_, me + 1, step, true);
      // First phase: planes without neighbours' data.
      each(count_ - 2, [this](int plane) {
        relax_plane(at(now_, plane + 2), at(source_, plane + 2), at(next_, plane + 2), whole_.side);
      });
      co_await when_n<&Slab::ghost>(neighbours, step);
      // Second phase: the outer planes, by rows, for there are only one or two of them.
      each((count_ > 1 ? 2 : 1) * whole_.side, [this](int number) {
        const int plane = number < whole_.side ? 1 : count_;
        relax_row(at(now_, plane), at(source_, plane), at(next_, plane), whole_.side,
                  static_cast<std::size_t>(number % whole_.side) + 1);
      });
      std::swap(now_, next_);
    }
    co_return fingerprint_of(at(now_, 1), static_cast<std::size_t>(count_) * plane_points(whole_.side),
                             static_cast<std::size_t>(first_) * plane_points(whole_.side));
  }

  int shared_loops() { return shared_; }
  int all_loops() { return all_; }

 private:
  double* at(std::vector<double>& grid, int plane) {
    return grid.data() + static_cast<std::size_t>(plane) * plane_points(whole_.side);
  }
  std::size_t send_plane(int plane, int to, int step, bool below) {
    const double* const from = at(now_, plane);
    tri::buffer<double> copy(plane_points(whole_.side));
    std::copy(from, from + plane_points(whole_.side), copy.begin());
    this_array()(to).send<&Slab::ghost>(step, below, std::move(copy));
    return 1;
  }
  // The same body, alone or shared.
  template <class Body>
  void each(int count, Body body) {
    if (count <= 0) return;
    ++all_;
    if (whole_.loops == sharing::always || (whole_.loops == sharing::idle && tri::any_idle_pe())) {
      ++shared_;
      tri::parallel_for(count, body, std::string_view(schedule_));
    } else {
      for (int i = 0; i < count; ++i) body(i);
    }
  }

  slab_problem whole_;
  std::string schedule_;
  int first_ = 0, count_ = 0;
  int shared_ = 0, all_ = 0;
  std::vector<double> now_, next_, source_;
};

// The same in one piece, with other loops.
std::uint64_t serial_fingerprint(const slab_problem& whole) {
  const int side = whole.side;
  const std::size_t plane = plane_points(side), row = row_points(side);
  std::vector<double> old(static_cast<std::size_t>(whole.planes + 2) * plane);
  for (std::size_t point = 0; point < old.size(); ++point)
    old[point] = initial_value(static_cast<int>(point / plane), static_cast<int>(point % plane / row),
                               static_cast<int>(point % row));
  std::vector<double> fresh = old;
  for (int step = 0; step < whole.steps; ++step) {
    for (std::size_t point = plane; point + plane < old.size(); ++point) {
      const std::size_t j = point % plane / row, k = point % row;
      if (j == 0 || j + 1 == row || k == 0 || k + 1 == row) continue;
      fresh[point] =
          (old[point - plane] + old[point + plane] + old[point - row] + old[point + row] + old[point - 1] +
           old[point + 1] + source_value(static_cast<int>(point / plane), static_cast<int>(j), static_cast<int>(k))) /
          6.0;
    }
    std::swap(old, fresh);
  }
  return fingerprint_of(old.data() + plane, static_cast<std::size_t>(whole.planes) * plane, plane);
}

}  // namespace

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** arguments) {
    slab_options options;
    if (const std::optional<int> status = read_slab_options(count, arguments, options)) return *status;
    const slab_problem& whole = options.whole;
    auto slabs = tri::make_array<Slab>({whole.slabs}, whole, options.schedule);
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t found = slabs.reduce<&Slab::run>(tri::bit_xor).get();
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - began;
    const int shared = slabs.reduce<&Slab::shared_loops>(tri::sum).get();
    const int all = slabs.reduce<&Slab::all_loops>(tri::sum).get();
    const bool right = found == serial_fingerprint(whole);
    fmt::print("{} planes of {} x {} points in {} slabs, {} steps: {:.3f} ms per step\n", whole.planes, whole.side,
               whole.side, whole.slabs, whole.steps, elapsed.count() / std::max(whole.steps, 1));
    fmt::print("loops shared: {} of {}\nresult {:016x}: {}\n", shared, all, found,
               right ? "identical to the serial program" : "WRONG, differs from the serial program");
    return right ? 0 : 1;
  });
}
