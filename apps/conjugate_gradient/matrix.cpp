// See matrix.hpp.
#include "conjugate_gradient/matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cg {
namespace {

constexpr double condition = 0.1;

// x(k+1) = 5^13 x(k) mod 2^46; numbers between 0 and 1 are x(k) / 2^46. Products are exact modulo 2^64.
class random_numbers {
 public:
  double next() {
    state_ = state_ * 1220703125U & ((std::uint64_t{1} << 46) - 1);
    return std::ldexp(static_cast<double>(state_), -46);
  }

 private:
  std::uint64_t state_ = 314159265;
};

struct element {
  std::int64_t at;
  double value;
};

// A vector of different random positions; position `number` is among them, with the value 1/2.
void make_vector(random_numbers& random, const problem& of, std::int64_t number, std::vector<element>& to) {
  const auto scale = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(of.rows)));
  const auto find = [&](std::int64_t at) {
    return std::find_if(to.begin(), to.end(), [at](const element& one) { return one.at == at; });
  };
  to.clear();
  while (static_cast<std::int64_t>(to.size()) < of.nonzeros_of_vector) {
    const double value = random.next();
    const auto at = static_cast<std::int64_t>(scale * random.next());
    if (at < of.rows && find(at) == to.end()) to.push_back({at, value});
  }
  if (const auto own = find(number); own != to.end())
    own->value = 0.5;
  else
    to.push_back({number, 0.5});
}

}  // namespace

const std::vector<problem>& problems() {
  static const std::vector<problem> known = {{"tiny", 100, 4, 3, 5.0, 0},
                                             {"S", 1400, 7, 15, 10.0, 8.5971775078648},
                                             {"W", 7000, 8, 15, 12.0, 10.362595087124},
                                             {"A", 14000, 11, 15, 20.0, 17.130235054029},
                                             {"B", 75000, 13, 75, 60.0, 22.712745482631}};
  return known;
}

sparse_rows make_rows(const problem& of, std::int64_t first, std::int64_t last) {
  // The matrix is the sum of the vectors' outer products with themselves, of weights from 1 down to `condition`, and
  // of condition - shift on the diagonal.
  std::vector<std::vector<element>> rows(static_cast<std::size_t>(std::max<std::int64_t>(last - first, 0)));
  random_numbers random;
  random.next();  // the benchmark draws one number first
  std::vector<element> vector;
  double weight = 1;
  const double ratio = std::pow(condition, 1.0 / static_cast<double>(of.rows));
  for (std::int64_t number = 0; number < of.rows; ++number, weight *= ratio) {
    make_vector(random, of, number, vector);
    for (const element& row : vector) {
      if (row.at < first || row.at >= last) continue;
      for (const element& column : vector) {
        double value = column.value * (weight * row.value);
        if (row.at == number && column.at == number) value += condition - of.shift;
        rows[static_cast<std::size_t>(row.at - first)].push_back({column.at, value});
      }
    }
  }
  sparse_rows made;
  made.first = first;
  for (std::vector<element>& row : rows) {
    // Stable: what falls on one place is added in the order in which it came, as in the benchmark.
    std::stable_sort(row.begin(), row.end(), [](const element& a, const element& b) { return a.at < b.at; });
    for (const element& one : row) {
      const bool is_new =
          static_cast<std::int64_t>(made.column.size()) == made.begin.back() || made.column.back() != one.at;
      if (is_new) {
        made.column.push_back(one.at);
        made.value.push_back(0);
      }
      made.value.back() += one.value;
    }
    made.begin.push_back(static_cast<std::int64_t>(made.column.size()));
  }
  return made;
}

double operations(const problem& of) {
  const auto rows = static_cast<double>(of.rows);
  const auto nonzeros = static_cast<double>(of.nonzeros_of_vector * (of.nonzeros_of_vector + 1));
  return 2.0 * of.iterations * rows * (3 + nonzeros + 25 * (5 + nonzeros) + 3);
}

}  // namespace cg
