// What the programs of this folder share: options, named as users of HPL know them, and the table of what each version
// of the algorithm gains (Farreras 2008, table 5.1).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dense/matrix.hpp"

namespace dense {

struct settings {
  extent n = 512;    ///< rows and columns
  extent nb = 192;   ///< of a tile
  int p = 0, q = 0;  ///< the grid of PEs
  int depth = 1;     ///< panels that are factored ahead
  std::uint64_t seed = 42;
  std::vector<std::string> versions{};  ///< empty: all
};

/// Of one run.
struct outcome {
  double seconds = 0;
  std::uint64_t messages = 0;  ///< that the PE with the most sent to others
  double residual = 0;
};

struct version {
  const char* name;
  std::function<outcome(const settings&)> run;
};

/// One of the programs.
struct program {
  const char* name;
  const char* purpose;
  std::vector<version> versions;
  std::function<double(extent n)> operations;
  double largest_residual;  ///< below it a result is right
};

/// Parses the options, runs the versions that they name, prints the table, and returns the exit status: 0, 1 when a
/// residual is too large, 2 for wrong options. Collective over all PEs.
int run_program(int argc, char** argv, const program& what);

/// Runs `f` on all PEs at once: the longest time, and the messages. The residual is left to the caller. Collective.
outcome timed(const std::function<void()>& f);

}  // namespace dense
