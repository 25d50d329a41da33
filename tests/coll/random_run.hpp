// Plans run with real bytes, their steps in random order, messages eager or not. Nothing of the checker is used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "coll/plan.hpp"
#include "coll/ready_steps.hpp"
#include "coll/request.hpp"

namespace tri::coll {

class random_run {
 public:
  using bytes = std::vector<unsigned char>;
  /// The target becomes the source before it (reduce_left) or after it, combined.
  using operation =
      std::function<void(step_kind side, const unsigned char* source, unsigned char* target, std::uint64_t bytes)>;

  /// `inputs` of all ranks; without them any bytes. `asked` and `plans` outlive it.
  random_run(const request& asked, const std::vector<plan>& plans, unsigned seed, operation combine,
             const std::vector<bytes>& inputs = {})
      : asked_(asked), plans_(plans), combine_(std::move(combine)), random_(seed) {
    for (const plan& each : plans) {
      inputs_.push_back(inputs.empty() ? filled(asked.input_bytes(each.rank))
                                       : inputs[static_cast<std::size_t>(each.rank)]);
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
    bytes found(size);
    if (size > 0) std::memcpy(found.data(), at({rank, buffer::output, 0}), size);
    return found;
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
        combine_(one.kind, at(one.source), at(one.target), one.bytes);
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

  struct message {
    bytes copied;
    const unsigned char* from = nullptr;
    bool is_copied = false;
    bool empty_since_received = false;
  };
  const request& asked_;
  const std::vector<plan>& plans_;
  const operation combine_;
  std::mt19937 random_;
  std::vector<bytes> inputs_;  // as they were
  std::vector<bytes> memory_[3];
  std::vector<std::vector<std::uint32_t>> counters_;
  std::vector<ready_steps> progress_;
  std::vector<std::pair<std::size_t, std::uint32_t>> ready_;
  std::map<key, message> under_way_;
};

}  // namespace tri::coll
