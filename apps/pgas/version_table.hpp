// What each version of a kernel gains over the first one, as a table (Farreras 2008, table 5.1), and the pieces that
// all such programs need: time between barriers, and how many accesses go to other hosts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pgas/command_line.hpp"
#include "trireme/arrays.hpp"

namespace pgas {

/// Accesses of one PE to elements of arrays, and those of them that leave its host. Sections count element by element.
struct access_counts {
  std::int64_t all = 0;
  std::int64_t remote = 0;

  void near(std::int64_t elements) { all += elements; }
  void far(std::int64_t elements) { all += elements, remote += elements; }
  /// One access, through the reference that makes it: x = counts.note(a(i)); counts.note(a(i)) = x.
  template <class T>
  const tri::element_reference<T>& note(const tri::element_reference<T>& element) {
    ++all;
    remote += element.local() == nullptr ? 1 : 0;
    return element;
  }
};

/// The elements of this PE in an array of one dimension that is dealt in one block to each PE; empty if it has none.
template <class T>
tri::region<1> own_block(const tri::global_array<T, 1>& array) {
  tri::region<1> own;
  for (const auto tile : array.own_tiles()) own = tile.elements();
  return own;
}
/// Their address; null if it has none.
template <class T>
T* own_data(const tri::global_array<T, 1>& array) {
  T* data = nullptr;
  for (const auto tile : array.own_tiles()) data = tile.data();
  return data;
}

/// Seconds from a barrier to the end of f() on the last PE. Collective.
template <class F>
double seconds_of_all(F&& f) {
  tri::barrier().get();
  const auto begin = std::chrono::steady_clock::now();
  f();
  tri::barrier().get();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return tri::team::world().allreduce(took.count(), tri::maximum).get();
}
/// Seconds of f(), on this PE.
template <class F>
double seconds_here(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Whether this PE found a result right, and what else is to be said of it, by PE 0.
struct verdict {
  verdict(bool right, std::string more = "")  // NOLINT(google-explicit-constructor): often there is no more
      : is_right(right), remark(std::move(more)) {}
  bool is_right;
  std::string remark;
};

/// Printed by PE 0 as the rows come. All functions are collective, in the same order on every PE.
class version_table {
 public:
  /// The figure of a row is `amount` / seconds, in `unit` ("GB/s", with an amount in GB). `problem` stands above it.
  version_table(std::string problem, std::string unit, double amount);

  /// A sequential program on PE 0, to compare with; no version gains over it. Seconds of PE 0.
  void sequential(double seconds) const;
  /// A version: its time, the accesses of this PE in it, and whether this PE found its result right.
  void row(const std::string& version, double seconds, const access_counts& own, const verdict& found);
  /// The last line, "verified" or "FAILED"; the exit status of the program.
  int finish() const;

 private:
  void print(const std::string& version, double seconds, double gain, const std::string& rest) const;

  double amount_;
  double first_seconds_ = 0;
  bool is_right_ = true;
};

/// A version of a kernel: a method that every PE runs, between barriers.
template <class Kernel>
struct version {
  const char* name;
  void (Kernel::*run)(access_counts& counts);
};
template <class Kernel, std::size_t N>
std::vector<std::string> names_of(const version<Kernel> (&versions)[N]) {
  std::vector<std::string> names;
  for (const version<Kernel>& each : versions) names.emplace_back(each.name);
  return names;
}

/// Runs the chosen versions, and prints a row for each. Before a run the kernel's prepare() restores its data; behind
/// the last one its check() returns a verdict. Collective; returns the exit status.
template <class Kernel, std::size_t N>
int run_versions(version_table& table, Kernel& kernel, const version<Kernel> (&versions)[N],
                 const version_choice& chosen) {
  for (const version<Kernel>& each : versions) {
    if (std::find(chosen.names.begin(), chosen.names.end(), each.name) == chosen.names.end()) continue;
    double best = std::numeric_limits<double>::infinity();
    access_counts counts;
    for (std::int64_t i = 0; i < chosen.repeats; ++i) {
      kernel.prepare();
      counts = {};
      const double seconds = seconds_of_all([&] { (kernel.*each.run)(counts); });
      best = std::min(best, seconds);
      if (chosen.prints_times && tri::this_pe() == 0) std::printf("time %s %.9f\n", each.name, seconds);
    }
    table.row(each.name, best, counts, kernel.check());
    tri::barrier().get();  // the next version must not change what another PE still checks
  }
  return table.finish();
}
/// The same behind the sequential program: the kernel's compute_sequentially(), on PE 0, takes its
/// sequential_seconds().
template <class Kernel, std::size_t N>
int run_beside_sequential(version_table& table, Kernel& kernel, const version<Kernel> (&versions)[N],
                          const version_choice& chosen) {
  if (tri::this_pe() == 0) {
    kernel.compute_sequentially();
    table.sequential(kernel.sequential_seconds());
  }
  return run_versions(table, kernel, versions, chosen);
}

}  // namespace pgas
