// What every kernel of this program offers: a problem made from a seed, a run by any method, the same problem computed
// by other code, and the comparison of the two. One thread calls; the loops inside use all.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "method.hpp"

namespace kernels {

struct finding {
  bool right = true;
  std::string text;
};

/// Other code for the same problem, for comparison of times.
struct peer {
  std::string name;
  std::function<void()> prepare;  ///< not timed
  std::function<void()> run;
};

class kernel {
 public:
  kernel() = default;
  kernel(const kernel&) = delete;
  kernel& operator=(const kernel&) = delete;
  virtual ~kernel() = default;

  /// One line: the computation and its size.
  virtual std::string problem() const = 0;
  /// Steps that one run does; times are given per step.
  virtual int steps() const = 0;
  /// Floating-point operations of a run, where that is a usual measure; 0: it is not.
  virtual double operations() const { return 0.0; }
  virtual bool has_task_graph() const { return false; }

  /// Back to the beginning; not timed.
  virtual void reset() = 0;
  virtual void run(method& how) = 0;
  /// Every number that must be the same whatever the method and the number of threads.
  virtual std::vector<double> result() const = 0;

  /// The same from the beginning in one thread, without loops of the library.
  virtual void run_serial() = 0;
  /// Compares the last run with the result of run_serial() and with invariants.
  virtual std::vector<finding> check() = 0;
  virtual std::vector<peer> peers() { return {}; }
};

}  // namespace kernels
