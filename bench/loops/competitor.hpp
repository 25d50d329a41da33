// A competitor is one loop runtime in a process of its own: two pools that wait by spinning would fight for the cores.
// It runs batches of one kernel under one of its schedules. The kernels are the same for all; only the distribution of
// the iterations differs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tri::bench {

enum class kernel : std::uint8_t {
  one,         // a loop of a single empty iteration
  pair,        // two empty iterations: the least that two threads can share
  cold_pair,   // the same after 20 ms in which the program slept
  empty,       // 50,000 empty iterations
  small,       // 200 iterations of 88 ns
  uniform,     // 10,000 iterations of about a microsecond, all alike,
  linear,      // growing from nothing to twice the mean,
  heavy_tail,  // or a few of them far longer than the rest
  concurrent,  // two threads of the program, each with loops of 1,000 iterations of 0.2 us at the same time
  sweep_l2,    // five-point sweeps over 1.5 MiB,
  sweep_l3,    // 16 MiB
  sweep_dram,  // and 256 MiB
  // Those with a result (real_kernels.hpp), which every batch checks:
  coarse_grids,   // twelve loops of 1,024 to 4,096 light iterations
  barrier_steps,  // loops of a single parallel region, with a barrier behind each
  sparse_rows,    // a sparse matrix times a vector
  sorted_graph,   // triangles of a graph, most of the work in front
};
inline constexpr std::uint32_t kernels = 16;
std::uint64_t iterations_of(kernel which);

// Loops of the suite that a runtime may keep a memory of, each in a place of its own: one for each kernel; of those
// that two threads run at a time, one for the second thread; the loops of the coarse grids; and one for warming up.
inline constexpr std::size_t first_grid_place = std::size_t{2} * kernels;
inline constexpr std::size_t warm_up_place = first_grid_place + 12;
inline constexpr std::size_t places = warm_up_place + 1;

struct comparison_setup {
  double steps_per_us = 1000;  // the same for all competitors, so that they do the same work
  int first_cpu = 0;           // of the thread that calls the loops
  int second_cpu = 1;
};

struct batch_request {
  kernel which = kernel::pair;
  std::size_t schedule = 0;
  std::uint32_t warm_up = 0;  // loops before the clock is started
  std::uint32_t loops = 1;
  bool first = false;  // each loop is the first one in its place; those that warm up have another place
};

struct batch_reply {
  double loop_ns = 0;      // mean of the loops
  bool disturbed = false;  // the system took a core away from one of the threads
  double difference = 0;   // concurrent: of the two threads, as a part of their mean
  bool wrong = false;      // the kernel's result differs from that of one thread
};

class competitor {
 public:
  virtual ~competitor() = default;
  virtual std::string name() const = 0;  // "libgomp"
  virtual std::vector<std::string> schedules() const = 0;
  virtual batch_reply run(const batch_request& request) = 0;
  // The part of the loops of two iterations in which two threads took part.
  virtual double shared_part(std::size_t schedule) = 0;
};

// The competitors of this build: "trireme", "openmp", "tbb" (where its headers were found), "steps" (the stages by
// which a loop of a runtime with messages became cheap).
std::vector<std::string> competitors();
std::unique_ptr<competitor> make_competitor(std::string_view which, const comparison_setup& setup);

// In a child process: serves the requests of a comparison on standard input until its end.
int serve_as_competitor(const std::string& which);

// One for each file of this folder.
std::unique_ptr<competitor> trireme_competitor(const comparison_setup& setup);
std::unique_ptr<competitor> tbb_competitor(const comparison_setup& setup);  // null: built without oneTBB
std::unique_ptr<competitor> steps_competitor(const comparison_setup& setup);

}  // namespace tri::bench
