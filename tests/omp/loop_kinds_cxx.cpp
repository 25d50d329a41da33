// What C++ programs add: iterators as loop variables, 64-bit collapsed loops, exceptions inside iterations, reductions
// of classes, loops in member functions and lambdas. Same conventions as loop_kinds.c.
#include <omp.h>

#include <atomic>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int failures = 0;
std::atomic<long> taken{0};

void count_loop() {
  if (omp_get_thread_num() == 0) ++taken;
}
void verify(const char* name, bool holds) {
  std::printf("%s: %s\n", name, holds ? "holds" : "FAILS");
  if (!holds) ++failures;
}

void iterators() {
  std::vector<int> values(5000, 0);
  ++taken;
#pragma omp parallel for schedule(dynamic, 5)
  for (auto each = values.begin(); each != values.end(); ++each) ++*each;
  std::deque<int> queue(777, 1);
#pragma omp parallel
  {
    count_loop();
#pragma omp for schedule(guided)
    for (auto each = queue.rbegin(); each < queue.rend(); each += 1) *each += 1;
    count_loop();
#pragma omp for schedule(runtime)
    for (int& each : queue) each += 1;
  }
  verify("random access iterators", values == std::vector<int>(5000, 1) && queue == std::deque<int>(777, 3));
}

void collapsed_64_bit() {
  constexpr std::uint64_t rows = 1u << 20;
  constexpr std::uint64_t columns = 3;
  std::uint64_t sum = 0;
  ++taken;
#pragma omp parallel for collapse(2) schedule(dynamic, 64) reduction(+ : sum)
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t j = 0; j < columns; ++j) sum += i * columns + j;
  const std::uint64_t count = rows * columns;
  verify("collapsed 64-bit loops", sum == count * (count - 1) / 2);
}

// Bounds and a step that need all 64 bits.
void long_loop() {
  constexpr std::uint64_t step = 0x0fffffffffffffffu;
  std::atomic<int> ran{0};
  bool complete = true;
#pragma omp parallel reduction(&& : complete)
  {
    count_loop();
    std::uint64_t mine = 0;
#pragma omp for schedule(dynamic, 2)
    for (std::uint64_t i = 1ull << 63; i < (1ull << 63) + 7 * step; i += step) {
      ++ran;
      mine = i - (1ull << 63);
    }
    complete = complete && mine % step == 0;
  }
  verify("over the whole of 64 bits", ran == 7 && complete);
}

void exceptions() {
  std::atomic<int> caught{0};
  ++taken;
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < 300; ++i) {
    try {
      if (i % 3 == 0) throw std::runtime_error(std::to_string(i));
    } catch (const std::runtime_error& problem) {
      if (problem.what() == std::to_string(i)) ++caught;
    }
  }
  verify("exceptions stay inside their iteration", caught == 100);
}

struct statistics {
  long count = 0, sum = 0;
  std::complex<double> turn{1, 0};
  void add(const statistics& other) {
    count += other.count;
    sum += other.sum;
    turn *= other.turn;
  }
};
#pragma omp declare reduction(add:statistics : omp_out.add(omp_in)) initializer(omp_priv = statistics{})

void class_reduction() {
  statistics all;
  ++taken;
#pragma omp parallel for schedule(guided) reduction(add : all)
  for (long i = 1000; i > 0; --i) {
    all.count += 1;
    all.sum += i;
    all.turn *= std::complex<double>(0, 1);
  }
  verify("reduction of a class", all.count == 1000 && all.sum == 500500 && all.turn == std::complex<double>(1, 0));
}

class grid {
 public:
  explicit grid(int size) : cells_(static_cast<std::size_t>(size)) {}
  void each(const std::function<void(int&)>& change) {
    ++taken;
#pragma omp parallel for schedule(dynamic, 16)
    for (std::size_t i = 0; i < cells_.size(); ++i) change(cells_[i]);
  }
  long sum() const {
    long result = 0;
    ++taken;
#pragma omp parallel for schedule(runtime) reduction(+ : result)
    for (std::size_t i = 0; i < cells_.size(); ++i) result += cells_[i];
    return result;
  }

 private:
  std::vector<int> cells_;
};

void member_functions() {
  grid cells(12345);
  for (int round = 0; round < 20; ++round) cells.each([&](int& cell) { cell += round; });
  verify("loops in member functions", cells.sum() == 12345L * 190);
}

}  // namespace

int main() {
  iterators();
  collapsed_64_bit();
  long_loop();
  exceptions();
  class_reduction();
  member_functions();
  std::printf("%s\n", failures == 0 ? "all well" : "FAILED");
  std::fprintf(stderr, "expected: loops intercepted %ld, passed through to the OpenMP runtime 0\n", taken.load());
  return failures == 0 ? 0 : 1;
}
