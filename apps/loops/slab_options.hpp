// The model problem of loop_slabs, and its command line.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace kernels {

enum class sharing : int { off, always, idle };

struct slab_problem {
  int planes = 96;
  int side = 32;
  int slabs = 4;
  int steps = 20;
  int growth = 0;  // slab i has about 1 + growth * i parts of the planes
  sharing loops = sharing::idle;

  // Inner planes [first, last) of a slab, counted from 1.
  std::pair<int, int> planes_of(int slab) const {
    const auto border = [&](int before) {
      const auto parts = [&](long count) { return count + growth * (count * (count - 1)) / 2; };
      return 1 + static_cast<int>((planes - slabs) * parts(before) / parts(slabs)) + before;  // each has one at least
    };
    return {border(slab), border(slab + 1)};
  }
};

struct slab_options {
  slab_problem whole;
  std::string schedule = "automatic";
};

/// Fills `options`, or prints help or what is wrong and returns the exit status.
std::optional<int> read_slab_options(int count, char** arguments, slab_options& options);

}  // namespace kernels
