// The checker itself is checked: plans run with real bytes, their steps in random order, messages eager or not, and the
// results are compared with sums that are made the plain way. Nothing of the checker is used.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "coll/ready_steps.hpp"
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

using bytes = std::vector<unsigned char>;

class random_run {
 public:
  random_run(const request& asked, const std::vector<plan>& plans, unsigned seed)
      : asked_(asked), plans_(plans), random_(seed) {
    for (const plan& each : plans) {
      inputs_.push_back(filled(asked.input_bytes(each.rank)));
      memory_[0].push_back(inputs_.back());
      memory_[1].push_back(filled(asked.output_bytes(each.rank)));
      memory_[2].push_back(filled(each.scratch_bytes));
      counters_.emplace_back(each.counters);
      progress_.emplace_back(each);
      if (asked.in_place && !inputs_.back().empty())
        std::memcpy(at({each.rank, buffer::input, 0}), inputs_.back().data(), inputs_.back().size());
    }
  }

  const std::vector<bytes>& inputs() const { return inputs_; }
  bytes output(int rank) {
    const std::uint64_t size = asked_.output_bytes(rank);
    if (size == 0) return {};
    const unsigned char* const from = at({rank, buffer::output, 0});
    return {from, from + size};
  }

  bool to_the_end() {
    std::vector<std::uint32_t> fresh;
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      progress_[rank].begin(fresh);
      add(rank, fresh);
    }
    int idle = 0;
    while (!ready_.empty() && idle < 100 * static_cast<int>(ready_.size()) + 1000) {
      const std::size_t chosen = random_() % ready_.size();
      const auto [rank, index] = ready_[chosen];
      if (!act(rank, plans_[rank].steps[index])) {
        ++idle;
        continue;
      }
      idle = 0;
      ready_[chosen] = ready_.back();
      ready_.pop_back();
      progress_[rank].ended(index, fresh);
      add(rank, fresh);
    }
    return std::ranges::all_of(progress_, [](const ready_steps& each) { return each.all_ended(); });
  }

 private:
  using key = std::tuple<std::size_t, std::size_t, std::uint32_t, std::uint8_t>;

  bytes filled(std::uint64_t size) {
    bytes made(size);
    for (unsigned char& each : made) each = static_cast<unsigned char>(random_());
    return made;
  }
  void add(std::size_t rank, std::vector<std::uint32_t>& fresh) {
    for (const std::uint32_t index : fresh) ready_.emplace_back(rank, index);
    fresh.clear();
  }
  unsigned char* at(const place& of) {
    const place real = asked_.real_place(of);
    return memory_[static_cast<std::size_t>(real.where)][static_cast<std::size_t>(real.rank)].data() + real.offset;
  }
  // False where it has to wait.
  bool act(std::size_t rank, const step& one) {
    switch (one.kind) {
      case step_kind::send: {
        const key name{rank, static_cast<std::size_t>(one.peer), one.round, one.slot};
        if (const auto found = under_way_.find(name); found != under_way_.end())
          return found->second.empty_since_received;
        const unsigned char* const from = one.bytes > 0 ? at(one.source) : nullptr;
        message& sent = under_way_[name];
        if (random_() % 2 == 0) {  // eager: copied
          sent.copied.assign(from, from + one.bytes);
          sent.is_copied = true;
          return true;
        }
        sent.from = from;  // a rendezvous: read when it is received, and only then may the send end
        return false;
      }
      case step_kind::receive: {
        const auto found = under_way_.find(key{static_cast<std::size_t>(one.peer), rank, one.round, one.slot});
        if (found == under_way_.end()) return false;
        message& sent = found->second;
        if (one.bytes > 0) std::memcpy(at(one.target), sent.is_copied ? sent.copied.data() : sent.from, one.bytes);
        sent.empty_since_received = true;
        return true;
      }
      case step_kind::copy:
        std::memcpy(at(one.target), at(one.source), one.bytes);
        return true;
      case step_kind::reduce_left:
      case step_kind::reduce_right:
        for (std::uint64_t i = 0; i < one.bytes; i += sizeof(affine)) {
          affine source;
          affine target;
          std::memcpy(&source, at(one.source) + i, sizeof source);
          std::memcpy(&target, at(one.target) + i, sizeof target);
          target = one.kind == step_kind::reduce_left ? combined(source, target) : combined(target, source);
          std::memcpy(at(one.target) + i, &target, sizeof target);
        }
        return true;
      case step_kind::signal:
        ++counters_[static_cast<std::size_t>(one.peer)][one.counter];
        return true;
      case step_kind::wait:
        return counters_[static_cast<std::size_t>(one.peer)][one.counter] >= one.value;
      case step_kind::join:
        return true;
    }
    return false;
  }

 public:
  affine combined(affine left, affine right) const { return asked_.commutative ? sum(left, right) : then(left, right); }

 private:
  struct message {
    bytes copied;
    const unsigned char* from = nullptr;
    bool is_copied = false;
    bool empty_since_received = false;
  };
  const request& asked_;
  const std::vector<plan>& plans_;
  std::mt19937 random_;
  std::vector<bytes> inputs_;  // as they were
  std::vector<bytes> memory_[3];
  std::vector<std::vector<std::uint32_t>> counters_;
  std::vector<ready_steps> progress_;
  std::vector<std::pair<std::size_t, std::uint32_t>> ready_;
  std::map<key, message> under_way_;
};

bytes folded(const random_run& run, std::size_t first, std::size_t last) {
  bytes total = run.inputs()[first];
  for (std::size_t rank = first + 1; rank < last; ++rank)
    for (std::size_t i = 0; i < total.size(); i += sizeof(affine)) {
      affine left;
      affine right;
      std::memcpy(&left, &total[i], sizeof left);
      std::memcpy(&right, &run.inputs()[rank][i], sizeof right);
      left = run.combined(left, right);
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
      return part(folded(run, 0, ranks), asked.begin_of(rank), asked.bytes_of(rank));
    case collective::scan:
      return folded(run, 0, own + 1);
    case collective::exscan:
      return folded(run, 0, own);
    default:
      return folded(run, 0, ranks);
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
        random_run run(asked, plans, seed);
        ASSERT_TRUE(run.to_the_end()) << text_of(asked, by);
        for (int rank = 0; rank < asked.hosts.ranks(); ++rank)
          ASSERT_EQ(run.output(rank), wanted(asked, run, rank))
              << text_of(asked, by) << ", rank " << rank << ", seed " << seed;
      }
  EXPECT_GT(runs, 3000);
}

}  // namespace
}  // namespace tri::coll
