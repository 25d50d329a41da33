// The checker itself is checked: plans run with real bytes, their steps in random order, messages eager or not, and the
// results are compared with sums that are made the plain way. Nothing of the checker is used.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "random_run.hpp"
#include "requests.hpp"

namespace tri::coll {
namespace {

// An associative operation that is not commutative: maps x -> a*x + b of numbers modulo 2^16, one after the other.
struct affine {
  std::uint16_t a = 1;
  std::uint16_t b = 0;
  bool operator==(const affine&) const = default;
};
static_assert(sizeof(affine) == 4);
affine then(affine first, affine second) {
  return {static_cast<std::uint16_t>(first.a * second.a), static_cast<std::uint16_t>(first.b * second.a + second.b)};
}
affine sum(affine one, affine other) {  // a commutative one
  return {static_cast<std::uint16_t>(one.a + other.a), static_cast<std::uint16_t>(one.b ^ other.b)};
}

using bytes = random_run::bytes;

affine combined(const request& asked, affine left, affine right) {
  return asked.commutative ? sum(left, right) : then(left, right);
}

random_run::operation operation_of(const request& asked) {
  return [&asked](step_kind side, const unsigned char* from, unsigned char* into, std::uint64_t size) {
    for (std::uint64_t i = 0; i < size; i += sizeof(affine)) {
      affine source;
      affine target;
      std::memcpy(&source, from + i, sizeof source);
      std::memcpy(&target, into + i, sizeof target);
      target = side == step_kind::reduce_left ? combined(asked, source, target) : combined(asked, target, source);
      std::memcpy(into + i, &target, sizeof target);
    }
  };
}

bytes folded(const request& asked, const random_run& run, std::size_t first, std::size_t last) {
  bytes total = run.inputs()[first];
  for (std::size_t rank = first + 1; rank < last; ++rank)
    for (std::size_t i = 0; i < total.size(); i += sizeof(affine)) {
      affine left;
      affine right;
      std::memcpy(&left, &total[i], sizeof left);
      std::memcpy(&right, &run.inputs()[rank][i], sizeof right);
      left = combined(asked, left, right);
      std::memcpy(&total[i], &left, sizeof left);
    }
  return total;
}

bytes part(const bytes& from, std::uint64_t begin, std::uint64_t size) {
  return {from.begin() + static_cast<std::ptrdiff_t>(begin), from.begin() + static_cast<std::ptrdiff_t>(begin + size)};
}

bytes wanted(const request& asked, const random_run& run, int rank) {
  const auto ranks = static_cast<std::size_t>(asked.hosts.ranks());
  const auto own = static_cast<std::size_t>(rank);
  if (asked.output_bytes(rank) == 0) return {};
  bytes all;
  switch (asked.what) {
    case collective::broadcast:
      return run.inputs()[static_cast<std::size_t>(asked.root)];
    case collective::scatter:
      return part(run.inputs()[static_cast<std::size_t>(asked.root)], asked.begin_of(rank), asked.bytes_of(rank));
    case collective::gather:
    case collective::allgather:
      for (const bytes& each : run.inputs()) all.insert(all.end(), each.begin(), each.end());
      return all;
    case collective::alltoall:
      for (const bytes& each : run.inputs()) {
        const bytes block = part(each, asked.begin_of(rank), asked.bytes_of(rank));
        all.insert(all.end(), block.begin(), block.end());
      }
      return all;
    case collective::reduce_scatter:
      return part(folded(asked, run, 0, ranks), asked.begin_of(rank), asked.bytes_of(rank));
    case collective::scan:
      return folded(asked, run, 0, own + 1);
    case collective::exscan:
      return folded(asked, run, 0, own);
    default:
      return folded(asked, run, 0, ranks);
  }
}

TEST(random_runs, give_the_bytes_that_are_promised) {
  std::mt19937 random(5);
  int runs = 0;
  for (const algorithm& by : all_algorithms())
    for (const auto& [hosts, ranks] : {std::pair{1, 3}, {2, 2}, {3, 1}, {5, 2}, {7, 1}, {4, 3}, {13, 2}, {6, 4}})
      for (unsigned seed = 0; seed < 12; ++seed, ++runs) {
        request asked =
            request_of(by.what, shape::uniform(hosts, ranks), seed % 4 == 3 ? 1 : random() % 40,
                       static_cast<int>(random() % static_cast<unsigned>(hosts * ranks)), by.commutative_only);
        asked.in_place = seed % 3 == 2 && !by.not_in_place;
        const std::vector<plan> plans = generate_all(by, asked);
        random_run run(asked, plans, seed, operation_of(asked));
        ASSERT_TRUE(run.to_the_end()) << text_of(asked, by);
        for (int rank = 0; rank < asked.hosts.ranks(); ++rank)
          ASSERT_EQ(run.output(rank), wanted(asked, run, rank))
              << text_of(asked, by) << ", rank " << rank << ", seed " << seed;
      }
  EXPECT_GT(runs, 3000);
}

}  // namespace
}  // namespace tri::coll
