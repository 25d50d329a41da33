// See solver.hpp.
#include "conjugate_gradient/solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conjugate_gradient/sequential.hpp"

namespace cg {
namespace {

constexpr double tolerance = 1e-10;  // of zeta, as in the benchmark

double sum_of_all(double own) { return tri::team::world().allreduce(own, tri::sum).get(); }

// The own elements of a vector, by their number in the block: through the array, or by pointer.
class through_array {
 public:
  explicit through_array(const tri::global_array<double, 1>& of) : of_(of), first_(pgas::own_block(of).first[0]) {}
  tri::element_reference<double> operator[](std::int64_t i) const { return of_(first_ + i); }

 private:
  const tri::global_array<double, 1>& of_;
  std::int64_t first_;
};
class by_pointer {
 public:
  explicit by_pointer(const tri::global_array<double, 1>& of) : data_(pgas::own_data(of)) {}
  double& operator[](std::int64_t i) const { return data_[i]; }

 private:
  double* data_;
};

}  // namespace

solver::solver(const problem& of, double expected) : of_(of), expected_(expected) {
  const tri::position<1> extents(of.rows);
  for (array* vector : {&x_, &z_, &r_, &p_, &q_}) *vector = array(extents, tri::grid(tri::pe_count()));
  const tri::region<1> own = pgas::own_block(p_);
  rows_ = make_rows(of, own.first[0], own.last[0]);
  all_of_p_.resize(static_cast<std::size_t>(of.rows));
}

void solver::prepare() {
  tri::for_each_own(x_, [](const tri::position<1>&, double& value) { value = 1; });
  zeta_ = 0;
}

template <class View>
double solver::dot(const array& a, const array& b, pgas::access_counts& counts) const {
  const View in_a(a), in_b(b);
  double own = 0;
  for (std::int64_t i = 0; i < rows_.count(); ++i) own += in_a[i] * in_b[i];
  counts.near(2 * rows_.count());
  return sum_of_all(own);
}

template <class View, class Element>
void solver::multiply_rows(Element&& element, pgas::access_counts& counts) {
  const View q(q_);
  for (std::int64_t i = 0; i < rows_.count(); ++i) {
    double sum = 0;
    const auto end = static_cast<std::size_t>(rows_.begin[static_cast<std::size_t>(i) + 1]);
    for (auto k = static_cast<std::size_t>(rows_.begin[static_cast<std::size_t>(i)]); k < end; ++k)
      sum += rows_.value[k] * element(rows_.column[k]);
    q[i] = sum;
  }
  counts.near(rows_.count());
}

template <class View, class Multiply>
void solver::solve(Multiply&& multiply, pgas::access_counts& counts) {
  const View x(x_), z(z_), r(r_), p(p_), q(q_);
  const std::int64_t rows = rows_.count();
  for (std::int64_t i = 0; i < rows; ++i) {
    z[i] = 0;
    p[i] = x[i];
    r[i] = x[i];
  }
  double rho = dot<View>(r_, r_, counts);
  for (int step = 0; step < steps_of_iteration; ++step) {
    tri::barrier().get();  // p is written everywhere
    multiply();
    const double alpha = rho / dot<View>(p_, q_, counts);  // a sum of all: no PE reads p any more
    for (std::int64_t i = 0; i < rows; ++i) {
      z[i] = z[i] + alpha * p[i];
      r[i] = r[i] - alpha * q[i];
    }
    const double before = rho;
    rho = dot<View>(r_, r_, counts);
    for (std::int64_t i = 0; i < rows; ++i) p[i] = r[i] + rho / before * p[i];
    counts.near(9 * rows);
  }
}

template <class View, class Multiply>
void solver::iterate(Multiply&& multiply, pgas::access_counts& counts) {
  for (int iteration = 0; iteration < of_.iterations; ++iteration) {
    solve<View>(multiply, counts);
    zeta_ = of_.shift + 1 / dot<View>(x_, z_, counts);
    const double scale = 1 / std::sqrt(dot<View>(z_, z_, counts));
    const View x(x_), z(z_);
    for (std::int64_t i = 0; i < rows_.count(); ++i) x[i] = scale * z[i];
    counts.near(2 * rows_.count());
  }
}

void solver::naive(pgas::access_counts& counts) {
  iterate<through_array>(
      [&] {
        multiply_rows<through_array>([&](std::int64_t column) -> double { return counts.note(p_(column)); }, counts);
      },
      counts);
}

void solver::privatized(pgas::access_counts& counts) {
  // The address of each block that lies on this host, as a compiler would keep it outside of the loop.
  const std::int64_t block = p_.tile()[0];
  std::vector<const double*> blocks;
  for (std::int64_t first = 0; first < of_.rows; first += block) blocks.push_back(p_.local(tri::position<1>(first)));
  const auto element = [&](std::int64_t column) -> double {
    const std::int64_t owner = column / block;
    const double* const near = blocks[static_cast<std::size_t>(owner)];
    if (near == nullptr) return counts.note(p_(column));
    counts.near(1);
    return near[column - owner * block];
  };
  iterate<by_pointer>([&] { multiply_rows<by_pointer>(element, counts); }, counts);
}

void solver::one_sided(pgas::access_counts& counts) {
  std::int64_t on_this_host = 0;
  for (std::int64_t row = 0; row < of_.rows; ++row) on_this_host += p_.local(tri::position<1>(row)) != nullptr ? 1 : 0;
  const auto element = [&](std::int64_t column) { return all_of_p_[static_cast<std::size_t>(column)]; };
  iterate<by_pointer>(
      [&] {
        p_.get({{0}, {of_.rows}}, all_of_p_.data()).get();
        counts.near(on_this_host);
        counts.far(of_.rows - on_this_host);
        multiply_rows<by_pointer>(element, counts);
      },
      counts);
}

void solver::two_sided(pgas::access_counts& counts) {
  const auto element = [&](std::int64_t column) { return all_of_p_[static_cast<std::size_t>(column)]; };
  iterate<by_pointer>(
      [&] {
        const double* const own = pgas::own_data(p_);
        auto next = all_of_p_.begin();
        for (const std::vector<double>& part :
             tri::team::world().allgather(std::vector<double>(own, own + rows_.count())).get())
          next = std::copy(part.begin(), part.end(), next);
        multiply_rows<by_pointer>(element, counts);
      },
      counts);
}

pgas::verdict solver::check() {
  const double published = of_.zeta == 0 ? expected_ : of_.zeta;
  if (first_zeta_ == 0) first_zeta_ = zeta_;
  const bool is_right =
      zeta_ == first_zeta_ && std::abs(zeta_ - published) <= tolerance && std::abs(zeta_ - expected_) <= tolerance;
  return {is_right,
          fmt::format("zeta {:.13f}, published {}", zeta_, of_.zeta == 0 ? "none" : fmt::format("{:.13f}", of_.zeta))};
}

}  // namespace cg
