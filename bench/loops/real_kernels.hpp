// Loops in the shape of real programs, whose results can be checked: the coarse grids of a multigrid step, many short
// loops with a barrier behind each, a sparse matrix with rows of a power law, and the triangles of a graph whose
// vertices are sorted by degree. Each executes a given number of times; the digest of its result then equals that of
// one thread, unless an iteration was skipped or run twice, or, in the first two, ran before its input was written.
// Data of one thread of the program, which passes the iterations to a runner:
//   loop(number, n, body)   calls body(0) ... body(n - 1); `number` distinguishes the loops of a kernel
//   region(steps, n, body)  calls body(step, 0) ... body(step, n - 1), and begins a step when the one before has ended
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tri::bench {

// Two fields of numbers, each computed from the other in turns: a step adds its values to those left by the step before
// the last one. Integers, whose sums do not depend on their order, and that no step brings closer to each other: one
// wrong number is never forgotten.
class field_pair {
 public:
  explicit field_pair(std::size_t size) : fields_{std::vector<std::uint64_t>(size), std::vector<std::uint64_t>(size)} {}
  void reset();
  const std::uint64_t* from() const { return fields_[reading_].data(); }
  std::uint64_t* to() { return fields_[1 - reading_].data(); }
  void swap() { reading_ = 1 - reading_; }
  std::uint64_t digest() const;

 private:
  std::array<std::vector<std::uint64_t>, 2> fields_;
  std::size_t reading_ = 0;
};

// Twelve loops of 1,024 to 4,096 iterations, down to the coarsest grid and up again. An iteration adds up the 27 points
// around its own, as the loops of NAS MG do. The grids have 16 to 64 planes of 8 x 8 points: one core writes ten cache
// lines that the other reads, so a loop is work and the runtime, not transfers.
class coarse_grids {
 public:
  static constexpr std::size_t loops = 12;
  coarse_grids();
  void reset();
  std::uint64_t digest() const;
  template <class Runner>
  void run(Runner& runner, std::uint32_t executions) {
    constexpr std::array<std::size_t, loops> way = {0, 0, 1, 1, 2, 2, 3, 3, 2, 1, 0, 0};
    for (std::uint32_t execution = 0; execution < executions; ++execution) {
      for (std::size_t number = 0; number < loops; ++number) {
        grid& on = grids_[way[number]];
        const std::uint64_t* const from = on.fields.from() + on.margin();
        std::uint64_t* const to = on.fields.to() + on.margin();
        runner.loop(number, on.points(), [from, to](int i) { to[i] += sum_around(from + i); });
        on.fields.swap();
      }
    }
  }

 private:
  // The rows of a plane are contiguous, and so are the planes: a point beyond the end of a row is the first one of the
  // next. So each point has all its neighbours, and finding them needs no division.
  struct grid {
    explicit grid(int planes_of_it)
        : planes(planes_of_it), fields(static_cast<std::size_t>(points()) + 2 * static_cast<std::size_t>(margin())) {}
    int points() const { return planes * side * side; }
    static std::ptrdiff_t margin() { return side * side + side + 1; }
    int planes;
    field_pair fields;
  };
  static constexpr int side = 8;
  static std::uint64_t sum_around(const std::uint64_t* at) {
    std::uint64_t sum = 0;
    for (int plane = -1; plane <= 1; ++plane) {
      for (int row = -1; row <= 1; ++row) {
        const std::uint64_t* const line = at + plane * side * side + row * side;
        sum += line[-1] + 2 * line[0] + line[1];
      }
    }
    return sum;
  }
  std::vector<grid> grids_;
};

// Steps of 40 iterations with a barrier behind each. A step reads what the neighbours wrote in the step before.
class barrier_steps {
 public:
  static constexpr int points = 40;
  // `work`: dependent multiplications and additions of an iteration
  explicit barrier_steps(std::uint32_t work) : work_(work), fields_(points + 2) { reset(); }
  void reset() { fields_.reset(); }
  std::uint64_t digest() const { return fields_.digest(); }
  template <class Runner>
  void run(Runner& runner, std::uint32_t executions) {
    std::uint64_t* const even = fields_.to();
    fields_.swap();
    std::uint64_t* const odd = fields_.to();
    runner.region(executions, points, [even, odd, work = work_](std::uint32_t step, int i) {
      std::uint64_t* const to = step % 2 == 0 ? even : odd;
      const std::uint64_t* const from = step % 2 == 0 ? odd : even;
      to[i + 1] += mixed(from[i] + 3 * from[i + 1] + from[i + 2], work);
    });
    if (executions % 2 == 0) fields_.swap();
  }

 private:
  static std::uint64_t mixed(std::uint64_t value, std::uint32_t work);
  std::uint32_t work_;
  field_pair fields_;
};

// y = y + A x, a loop over 40,000 rows of 4 to 4,000 entries in compressed form. The lengths follow a power law and
// come in no order; a tenth of the rows has half of the entries.
class sparse_rows {
 public:
  sparse_rows();
  void reset();
  std::uint64_t digest() const;
  template <class Runner>
  void run(Runner& runner, std::uint32_t executions) {
    for (std::uint32_t execution = 0; execution < executions; ++execution)
      runner.loop(0, static_cast<int>(y_.size()), [this](int row) { add_row(row); });
  }
  std::vector<std::size_t> row_lengths() const;

 private:
  void add_row(int row);
  std::vector<std::uint32_t> first_;  // entry of each row, and the number of entries
  std::vector<std::uint32_t> columns_;
  std::vector<double> values_;
  std::vector<double> x_;
  std::vector<double> y_;
};

// How many triangles end at each vertex of a graph with 32,768 of them: the loop of GAPBS `tc`, which comes with
// schedule(dynamic, 64). Vertices are sorted by degree, the highest first, so most of the work is in front.
class sorted_graph {
 public:
  sorted_graph();
  void reset();
  std::uint64_t digest() const;
  template <class Runner>
  void run(Runner& runner, std::uint32_t executions) {
    for (std::uint32_t execution = 0; execution < executions; ++execution) {
      runner.loop(0, static_cast<int>(triangles_.size()), [this](int vertex) {
        // One more, so that vertices without triangles show that they had their turn.
        triangles_[static_cast<std::size_t>(vertex)] += triangles_of(static_cast<std::size_t>(vertex)) + 1;
      });
    }
  }
  // How many numbers of lists the iteration of each vertex passes.
  std::vector<std::size_t> costs() const;

 private:
  std::uint64_t triangles_of(std::size_t vertex) const;
  std::vector<std::uint32_t> first_;       // of each vertex, in `neighbours_`
  std::vector<std::uint32_t> neighbours_;  // those with lower numbers, rising
  std::vector<std::uint64_t> triangles_;
};

}  // namespace tri::bench
