// Generated streams have the figures they were made for, and predictions on them come true as often as the source of
// those figures reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/accuracy.hpp"
#include "sim/stream_generator.hpp"

namespace {

using namespace tri::flow::prediction;
using namespace tri::sim;

std::string name_of_stream(const stream_shape& shape) {
  return std::string(shape.program) + "." + std::to_string(shape.processes);
}

// The smallest m with x(i) == x(i-m) throughout the part that repeats.
int period_of(const stream_shape& shape, const std::vector<message_facts>& logical) {
  const auto first = logical.begin() + shape.prologue;
  const auto last = logical.end() - shape.epilogue;
  for (int m = 1; m < last - first; ++m) {
    if (std::equal(first + m, last, first)) return m;
  }
  return 0;
}

// FA-07.
TEST(stream_generator, has_the_figures_of_the_tables) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    for (const stream_shape& shape : known_streams()) {
      const generated_stream stream = generate(shape, seed);
      std::set<std::uint64_t> buffers;
      std::set<std::uint64_t> sizes;
      std::set<std::uint32_t> senders;
      for (const message_facts& it : stream.logical) {
        buffers.insert(it.address);
        sizes.insert(it.size);
        senders.insert(it.sender);
      }
      EXPECT_EQ(stream.logical.size(), static_cast<std::size_t>(shape.messages)) << name_of_stream(shape);
      EXPECT_EQ(buffers.size(), static_cast<std::size_t>(shape.buffers)) << name_of_stream(shape);
      EXPECT_EQ(sizes.size(), static_cast<std::size_t>(shape.sizes)) << name_of_stream(shape);
      EXPECT_EQ(senders.size(), static_cast<std::size_t>(shape.senders)) << name_of_stream(shape);
      EXPECT_EQ(period_of(shape, stream.logical), shape.pattern) << name_of_stream(shape);
    }
  }
}

// Some of the patterns of four out of two that are drawn would repeat earlier; they must be drawn again.
TEST(stream_generator, patterns_have_no_shorter_period) {
  const stream_shape& shape = known_stream("CG", 4);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    ASSERT_EQ(period_of(shape, generate(shape, seed).logical), 4) << "seed " << seed;
  }
}

TEST(stream_generator, arrival_keeps_the_order_of_each_sender) {
  for (const stream_shape& shape : known_streams()) {
    const generated_stream stream = generate(shape, 7);
    const auto by_sender = [](const std::vector<message_facts>& messages) {
      std::map<std::uint32_t, std::vector<message_facts>> sorted;
      for (const message_facts& it : messages) sorted[it.sender].push_back(it);
      return sorted;
    };
    EXPECT_TRUE(by_sender(stream.physical) == by_sender(stream.logical)) << name_of_stream(shape);
    EXPECT_TRUE(stream.physical != stream.logical) << name_of_stream(shape);
  }
}

TEST(stream_generator, seeds_decide) {
  const stream_shape& shape = known_stream("BT", 9);
  EXPECT_TRUE(generate(shape, 3).physical == generate(shape, 3).physical);
  EXPECT_TRUE(generate(shape, 3).logical != generate(shape, 4).logical);
  try {
    known_stream("BT", 10);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("no stream 'BT.10'; there are BT.4 BT.9 ")) << error.what();
  }
}

class accuracy_of_programs : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    rows_ = accuracy_report({}, 2008);
    std::cout << text_of(rows_);
  }
  static const accuracy& of(std::string_view program, int processes, bool logical, predictor_kind kind) {
    for (const accuracy_row& row : rows_) {
      if (row.program == program && row.processes == processes && row.logical == logical && row.kind == kind)
        return row.result;
    }
    throw std::logic_error("no such row");
  }
  static std::vector<accuracy_row> rows_;
};
std::vector<accuracy_row> accuracy_of_programs::rows_;

// FA-08. The source reports more than 90 %, mostly near 100 %, for +1 to +5, except for IS on 4 processes. IS has 11
// iterations on any number of processes: the first cannot be predicted (1/11 = 9.1 %), nor its repetition before the
// first message of the second, which costs +5 up to 5 more of 100 messages.
TEST_F(accuracy_of_programs, order_of_the_program_is_predicted) {
  for (const stream_shape& shape : known_streams()) {
    const accuracy& result = of(shape.program, shape.processes, true, predictor_kind::early);
    const double least = shape.program == "IS" ? 0.90 - 5.0 / shape.messages : 0.95;
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_GE(result.rate(i), least) << name_of_stream(shape) << " +" << lookaheads[i];
      EXPECT_LE(result.rate(i), 1.0);
    }
  }
}

// With the whole window of 256 to be seen first nothing is predicted for 256 messages and a pattern; from then on
// everything is, up to the epilogue. So the loss is exact, and it is all of IS on 4 and 8 processes.
TEST_F(accuracy_of_programs, certainty_costs_the_window) {
  for (const stream_shape& shape : known_streams()) {
    const int repeating = shape.messages - shape.epilogue;
    const int lock =
        std::min(repeating, shape.prologue + 256 + shape.pattern);  // messages seen at the first prediction
    const double most = static_cast<double>(shape.messages - lock) / (shape.messages - 1);
    const double least = static_cast<double>(repeating - lock) / (shape.messages - 1);
    for (const auto kind : {predictor_kind::dpd, predictor_kind::shortdpd}) {
      const double rate = of(shape.program, shape.processes, true, kind).rate(0);
      // A prologue that happens to be the end of a pattern makes the lock earlier by its length at most.
      EXPECT_LE(rate, most + static_cast<double>(shape.prologue) / (shape.messages - 1))
          << name_of_stream(shape) << " " << name_of(kind);
      EXPECT_GE(rate, least) << name_of_stream(shape) << " " << name_of(kind);
    }
  }
  EXPECT_EQ(of("IS", 4, true, predictor_kind::dpd).rate(0), 0);
  EXPECT_EQ(of("IS", 8, true, predictor_kind::shortdpd).rate(0), 0);
}

// What the source reports for the order of arrival, in words: high for LU, lower for BT, poor for IS. How much lower
// depends on the disorder, which is ours; the ranking does not.
TEST_F(accuracy_of_programs, order_of_arrival_is_predicted_less_often) {
  for (const int size : {4, 16}) {
    const double lu = of("LU", size, false, predictor_kind::early).rate(0);
    const double bt = of("BT", size, false, predictor_kind::early).rate(0);
    const double is = of("IS", size, false, predictor_kind::early).rate(0);
    EXPECT_GT(lu, 0.95);
    EXPECT_GT(lu, bt);
    EXPECT_LT(bt, of("BT", size, true, predictor_kind::early).rate(0) - 0.1);
    EXPECT_GT(bt, is);
    EXPECT_LT(is, 0.4);
  }
}

// The source counts only messages of more than 8 KB when it compares both predictors: for LU, on 4 processes, these are
// the large ones behind runs of 125. The graph predicts none at +10, the period nearly all.
TEST(accuracy_of_large_messages, graph_is_blind_for_lu) {
  const generated_stream stream = generate(known_stream("LU", 4), 2008);
  const accuracy graph = measure({.kind = predictor_kind::graph}, stream.logical, 8192);
  const accuracy early = measure({.kind = predictor_kind::early}, stream.logical, 8192);
  const std::size_t ten_ahead = lookaheads.size() - 1;
  EXPECT_GT(graph.tried[ten_ahead], 240U);
  EXPECT_LE(graph.right[ten_ahead], 3U);  // within the prologue and epilogue, which are drawn
  EXPECT_GT(early.rate(ten_ahead), 0.9);
}

TEST(accuracy_report, tells_each_stream) {
  accuracy_row row{.program = "BT", .processes = 9, .logical = false, .kind = predictor_kind::graph, .result = {}};
  row.result.tried.fill(1000);
  row.result.right = {1000, 999, 500, 1, 0, 10};
  EXPECT_EQ(text_of(std::vector<accuracy_row>{row}),
            "stream  order     predictor      +1     +2     +3     +4     +5    +10   % right of all three: buffer, "
            "size, sender\n"
            "BT.9    physical  graph       100.0   99.9   50.0    0.1    0.0    1.0\n");
}

}  // namespace
