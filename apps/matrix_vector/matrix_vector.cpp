// Matrix-vector product y = A x on global arrays (Farreras 2008, 5.3.7). Each PE has some rows of A and the same
// elements of x and y; it needs all of x.
//   naive        every access through the arrays
//   privatized   plain pointers for what lies on this host, the array for the rest of x
//   tuned        x by one get before
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "pgas/command_line.hpp"
#include "pgas/version_table.hpp"

namespace {

class product {
 public:
  explicit product(std::int64_t n)
      : n_(n),
        a_({n, n}, tri::grid(tri::pe_count(), 1)),
        x_(tri::position<1>(n), tri::grid(tri::pe_count())),
        y_(tri::position<1>(n), tri::grid(tri::pe_count())),
        rows_(pgas::own_block(y_)) {
    tri::for_each_own(a_, [](const tri::position<2>& at, double& value) { value = a_at(at[0], at[1]); });
    tri::for_each_own(x_, [](const tri::position<1>& at, double& value) { value = x_at(at[0]); });
  }

  void prepare() {
    tri::for_each_own(y_, [](const tri::position<1>&, double& value) { value = 0; });
  }

  void naive(pgas::access_counts& counts) {
    for (std::int64_t i = rows_.first[0]; i < rows_.last[0]; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n_; ++j) sum += counts.note(a_(i, j)) * counts.note(x_(j));
      counts.note(y_(i)) = sum;
    }
  }

  void privatized(pgas::access_counts& counts) {
    double* const y = pgas::own_data(y_);
    for (std::int64_t i = rows_.first[0]; i < rows_.last[0]; ++i) {
      const double* const row = a_.local({i, 0});
      double sum = 0;
      for (std::int64_t begin = 0; begin < n_; begin += x_.tile()[0]) {
        const std::int64_t end = std::min(begin + x_.tile()[0], n_);
        if (const double* const near = x_.local(tri::position<1>(begin)); near != nullptr) {
          for (std::int64_t j = begin; j < end; ++j) sum += row[j] * near[j - begin];
          counts.near(end - begin);
        } else {
          for (std::int64_t j = begin; j < end; ++j) sum += row[j] * counts.note(x_(j));
        }
      }
      y[i - rows_.first[0]] = sum;
      counts.near(n_ + 1);
    }
  }

  void tuned(pgas::access_counts& counts) {
    std::vector<double> x(static_cast<std::size_t>(n_));
    x_.get({{0}, {n_}}, x.data()).get();
    count_section(counts);
    double* const y = pgas::own_data(y_);
    for (std::int64_t i = rows_.first[0]; i < rows_.last[0]; ++i) {
      const double* const row = a_.local({i, 0});
      double sum = 0;
      for (std::int64_t j = 0; j < n_; ++j) sum += row[j] * x[static_cast<std::size_t>(j)];
      y[i - rows_.first[0]] = sum;
      counts.near(n_ + 1);
    }
  }

  void compute_sequentially() {
    std::vector<double> a, x;
    for (std::int64_t j = 0; j < n_; ++j) x.push_back(x_at(j));
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) a.push_back(a_at(i, j));
    sequential_seconds_ = pgas::seconds_here([&] {
      for (std::int64_t i = 0; i < n_; ++i) {
        const double* const row = a.data() + i * n_;
        double sum = 0;
        for (std::int64_t j = 0; j < n_; ++j) sum += row[j] * x[static_cast<std::size_t>(j)];
        expected_.push_back(sum);
      }
    });
  }
  double sequential_seconds() const { return sequential_seconds_; }
  /// PE 0 compares, to the bit: each row is summed from its front.
  pgas::verdict check() const {
    if (tri::this_pe() != 0) return true;
    std::vector<double> y(static_cast<std::size_t>(n_));
    y_.get({{0}, {n_}}, y.data()).get();
    return y == expected_;
  }

 private:
  static double a_at(std::int64_t i, std::int64_t j) { return static_cast<double>((i * 7 + j * 13) % 19) / 8 + 0.1; }
  static double x_at(std::int64_t j) { return static_cast<double>(j % 23) / 4 - 2; }
  void count_section(pgas::access_counts& counts) const {
    for (std::int64_t begin = 0; begin < n_; begin += x_.tile()[0]) {
      const std::int64_t length = std::min(x_.tile()[0], n_ - begin);
      x_.local(tri::position<1>(begin)) != nullptr ? counts.near(length) : counts.far(length);
    }
  }

  std::int64_t n_;
  tri::global_array<double, 2> a_;
  tri::global_array<double, 1> x_, y_;
  tri::region<1> rows_;
  std::vector<double> expected_;
  double sequential_seconds_ = 0;
};

constexpr pgas::version<product> versions[] = {
    {"naive", &product::naive}, {"privatized", &product::privatized}, {"tuned", &product::tuned}};

int run(int argc, char** argv) {
  std::int64_t n = 2048;
  pgas::version_choice chosen;
  pgas::command_line line("matrix_vector", "Matrix-vector product on global arrays.");
  line.number("--size", n, 1, 1 << 18, "the matrix has N x N elements").versions(chosen, pgas::names_of(versions));
  if (const auto status = line.parse(argc, argv)) return *status;

  product kernel(n);
  pgas::version_table table(fmt::format("{} x {} elements", n, n), "Mflop/s", static_cast<double>(n * n) * 2e-6);
  return pgas::run_beside_sequential(table, kernel, versions, chosen);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &run); }
