// Loops of C++: raw strings, separated digits, iterators, templates, attributes.
#include <cstdio>
#include <numeric>
#include <vector>

template <class T>
T sum_of(const std::vector<T>& values) {
  T sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (auto each = values.begin(); each < values.end(); ++each) sum += *each;
  return sum;
}

int main() {
  std::vector<long> values(1'000);
  std::iota(values.begin(), values.end(), 7);
  const char* text = R"(
#pragma omp parallel for
)";
  std::printf("%zu %ld\n", sizeof(text), sum_of(values));
#pragma omp parallel
  {
    _Pragma("omp for schedule(static)") for (std::size_t i = 0; i < values.size(); ++i) values[i] *= 3;
    [[omp::directive(for schedule(monotonic : static))]] for (long& each : values) each += 1;
  }
  [[omp::sequence(directive(parallel), directive(for))]] for (long& each : values) each -= 4;
  std::printf("%ld\n", sum_of(values));
}
