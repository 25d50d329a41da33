// Counts values into bins: every process has one set of bins, filled by all its cores at the same time. Shows: a node
// group whose messages run on whichever core is idle, a read-only table shared by all processes of the machine, and a
// reduction with a function of our own.
#include <array>
#include <atomic>
#include <cstdio>
#include <trireme/objects.hpp>

constexpr std::size_t bins = 8;
using counts = std::array<long, bins>;

tri::read_only<tri::shared_buffer<int>> values;  // one copy on the whole machine

struct Bins : tri::nodegroup_member<Bins> {
  std::array<std::atomic<long>, bins> bin{};
  void count(std::uint64_t first, std::uint64_t last) {  // may run on several cores at once
    for (std::uint64_t i = first; i < last; ++i) ++bin[static_cast<std::size_t>((*values)[i]) % bins];
  }
  counts total() {
    counts sum;
    for (std::size_t b = 0; b < bins; ++b) sum[b] = bin[b];
    return sum;
  }
};

int main(int argc, char** argv) {
  return tri::run(argc, argv, [] {
    tri::buffer<int> numbers(100'000);
    std::uint32_t state = 1;
    for (int& number : numbers) number = static_cast<int>((state = state * 1664525u + 1013904223u) >> 16);
    const std::uint64_t size = numbers.size(), piece = 1000;
    values.publish(tri::shared_buffer<int>(std::move(numbers))).get();

    auto all = tri::make_nodegroup<Bins>();
    for (std::uint64_t first = 0; first < size; first += piece)
      all[static_cast<int>(first / piece) % tri::process_count()].send<&Bins::count>(first, first + piece);
    tri::quiescence().get();

    const auto add = tri::by([](counts a, const counts& b) {
      for (std::size_t i = 0; i < bins; ++i) a[i] += b[i];
      return a;
    });
    long sum = 0;
    for (const long count : all.reduce<&Bins::total>(add).get()) {
      std::printf("%ld ", count);
      sum += count;
    }
    std::printf("\n%ld values counted\n", sum);
  });
}
