// Completion of a set of messages: all interleavings of a few PEs whose messages cause others, in any order of
// delivery, with waves that read the counters of PEs in any order. Never complete while something is left; never
// overdrawn; and in the end complete. The same with rules that are known to be wrong, which must be found out.
#include "trireme/detail/objects/completion_waves.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "explore/explorer.hpp"

namespace tri::objects {
namespace {

enum class rules : std::uint8_t {
  whole,
  one_wave,        // consumed and produced of the same wave
  swapped,         // produced of the first wave, consumed of the second
  consume_before,  // a method counts its message as consumed before it produces what that causes
};

// Message `number` causes 2 * number + 1 and 2 * number + 2 beyond the first `roots`, as far as they are below
// `messages`. Producer p is on PE p and sends the roots p, p + producers, ... before it is done.
class world {
 public:
  world(int pes, int producers, int roots, int messages, rules which = rules::whole)
      : pes_(pes), producers_(producers), roots_(roots), messages_(messages), rules_(which) {
    counts_.resize(static_cast<std::size_t>(pes));
    producing_.resize(static_cast<std::size_t>(producers));
    for (int p = 0; p < producers; ++p) producing_[static_cast<std::size_t>(p)] = p;
    half_handled_.assign(static_cast<std::size_t>(pes), none);
    begin_wave(0);
  }

  int steps() {
    possible_.clear();
    if (is_complete_) return 0;
    for (int p = 0; p < producers_; ++p)
      if (producing(p) != none) possible_.push_back({kind::produce, p});
    for (int number = 0; number < messages_; ++number)
      if (in_flight_.test(static_cast<std::size_t>(number)) && half_handled(pe_of(number)) == none)
        possible_.push_back({kind::deliver, number});
    for (int pe = 0; pe < pes_; ++pe) {
      if (half_handled(pe) != none) possible_.push_back({kind::go_on, pe});
      if (!was_read_.test(static_cast<std::size_t>(pe))) possible_.push_back({kind::read, pe});
    }
    return static_cast<int>(possible_.size());
  }

  void take(int step) {
    const auto [what, which] = possible_[static_cast<std::size_t>(step)];
    switch (what) {
      case kind::produce:
        return produce(which);
      case kind::deliver:
        return deliver(which);
      case kind::go_on:
        return cause(std::exchange(half_handled(which), none));
      case kind::read:
        return read(which);
    }
  }

  void check_end() {
    if (!is_complete_) throw std::runtime_error("completion is never found");
  }

  void encode(explore::fingerprint& made) {
    const auto put = [&](std::uint64_t word) { made.put(word); };
    for (const completion_counts& each : counts_)
      for (const std::uint64_t count : {each.produced, each.consumed, each.done}) put(count);
    for (const completion_counts& each : sums_)
      for (const std::uint64_t count : {each.produced, each.consumed, each.done}) put(count);
    for (const int next : producing_) put(static_cast<std::uint64_t>(next));
    for (const int number : half_handled_) put(static_cast<std::uint64_t>(number));
    put(in_flight_.to_ullong());
    put(was_read_.to_ullong());
    put(static_cast<std::uint64_t>(wave_));
    put(is_complete_ ? 1 : 0);
  }

 private:
  static constexpr int none = -1;
  enum class kind : std::uint8_t { produce, deliver, go_on, read };
  struct step_of {
    kind what;
    int which;
  };

  int pe_of(int number) const { return (number * 2 + 1) % pes_; }
  int& producing(int p) { return producing_[static_cast<std::size_t>(p)]; }
  int& half_handled(int pe) { return half_handled_[static_cast<std::size_t>(pe)]; }
  completion_counts& at(int pe) { return counts_[static_cast<std::size_t>(pe)]; }

  void send(int pe, int number) {
    ++at(pe).produced;
    in_flight_.set(static_cast<std::size_t>(number));
  }
  void produce(int p) {
    if (producing(p) < roots_) {
      send(p, producing(p));
      producing(p) += producers_;
      return;
    }
    producing(p) = none;
    ++at(p).done;
  }
  // A method that waits in between lets the waves read the counters of its PE.
  void deliver(int number) {
    in_flight_.reset(static_cast<std::size_t>(number));
    const int pe = pe_of(number);
    if (rules_ != rules::consume_before) {
      cause(number);
      ++at(pe).consumed;
      return;
    }
    ++at(pe).consumed;
    half_handled(pe) = number;
  }
  void cause(int number) {
    for (const int child : {2 * number + roots_, 2 * number + roots_ + 1})
      if (child < messages_) send(pe_of(number), child);
  }

  void begin_wave(int wave) {
    wave_ = wave;
    sums_[static_cast<std::size_t>(wave)] = {};
    if (wave == 0) sums_[1] = {};
    was_read_.reset();
  }
  void read(int pe) {
    was_read_.set(static_cast<std::size_t>(pe));
    completion_counts& sum = sums_[static_cast<std::size_t>(wave_)];
    sum.produced += at(pe).produced;
    sum.consumed += at(pe).consumed;
    sum.done += at(pe).done;
    if (static_cast<int>(was_read_.count()) < pes_) return;
    if (wave_ == 0) return begin_wave(1);
    switch (verdict()) {
      case completion_verdict::overdrawn:
        throw std::runtime_error("overdrawn");
      case completion_verdict::complete:
        is_complete_ = true;
        return check_nothing_left();
      case completion_verdict::goes_on:
        return begin_wave(0);
    }
  }
  completion_verdict verdict() const {
    const auto producers = static_cast<std::uint64_t>(producers_);
    completion_counts first = sums_[0];
    completion_counts second = sums_[1];
    if (rules_ == rules::one_wave) second.produced = first.produced;
    if (rules_ == rules::swapped) {
      second.produced = first.produced;
      first.consumed = sums_[1].consumed;
    }
    const completion_verdict found = judge_waves(first, second, producers);
    // Those rules say nothing about more consumed than produced.
    return rules_ != rules::whole && found == completion_verdict::overdrawn ? completion_verdict::goes_on : found;
  }
  void check_nothing_left() const {
    if (in_flight_.any()) throw std::runtime_error("complete with messages under way");
    for (const int next : producing_)
      if (next != none) throw std::runtime_error("complete with a producer that goes on");
    for (const int number : half_handled_)
      if (number != none) throw std::runtime_error("complete with a method that has not ended");
  }

  int pes_, producers_, roots_, messages_;
  rules rules_;
  std::vector<completion_counts> counts_;
  std::vector<int> producing_;     // the next root of each producer
  std::vector<int> half_handled_;  // by PE
  std::bitset<64> in_flight_, was_read_;
  completion_counts sums_[2];
  int wave_ = 0;
  bool is_complete_ = false;
  std::vector<step_of> possible_;
};

void expect_sound(const world& start, std::uint64_t least_states) {
  const explore::model_outcome found = explore::explore_all(start, 20'000'000);
  EXPECT_EQ(found.fault, "") << found.text();
  EXPECT_TRUE(found.complete);
  EXPECT_GE(found.states, least_states);
}
void expect_fault(const world& start, const std::string& part) {
  EXPECT_NE(explore::explore_all(start, 20'000'000).fault.find(part), std::string::npos);
}

TEST(completion_waves, all_interleavings_of_two_pes) {
  expect_sound(world(2, 1, 1, 5), 100);
  expect_sound(world(2, 2, 2, 6), 1000);
}

TEST(completion_waves, all_interleavings_of_three_pes) {
  expect_sound(world(3, 1, 2, 5), 1000);
  expect_sound(world(3, 2, 2, 4), 1000);
  expect_sound(world(3, 3, 3, 3), 1000);
}

TEST(completion_waves, a_set_without_messages) { expect_sound(world(3, 2, 0, 0), 10); }

TEST(completion_waves, wrong_rules_are_found_out) {
  expect_fault(world(3, 1, 2, 5, rules::one_wave), "complete with");
  expect_fault(world(3, 1, 2, 5, rules::swapped), "complete with");
  expect_fault(world(2, 1, 1, 3, rules::consume_before), "complete with");
}

TEST(completion_waves, more_consumed_than_produced_is_said) {
  EXPECT_EQ(judge_waves({2, 3, 1}, {2, 3, 1}, 1), completion_verdict::overdrawn);
  EXPECT_EQ(judge_waves({2, 2, 2}, {2, 2, 2}, 1), completion_verdict::overdrawn);
  EXPECT_EQ(judge_waves({2, 2, 0}, {2, 2, 0}, 1), completion_verdict::goes_on);
  EXPECT_EQ(judge_waves({2, 3, 1}, {4, 4, 1}, 1), completion_verdict::goes_on) << "inside one wave";
}

}  // namespace
}  // namespace tri::objects
