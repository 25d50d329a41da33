// Creation, attaching, and what a process that attaches does not believe.
#include <gmock/gmock.h>

#include <cstring>

#include "board_memory.hpp"

namespace tri::board {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void nothing(const task_view&, std::uint64_t, std::uint64_t, int) noexcept {}
bool no_progress(const std::uint64_t*, int, int) noexcept { return false; }

struct board_layout_test : testing::Test {
  board_layout_test() {
    operations.chunks.add("copy", nothing);
    operations.progress.add("match", no_progress);
  }
  board_header& header() { return *reinterpret_cast<board_header*>(memory.span().data()); }
  void expect_refused(const char* text) {
    EXPECT_THAT([&] { board::attach(memory.span(), operations); },
                ThrowsMessage<std::invalid_argument>(HasSubstr(text)));
  }

  operation_table operations;
  board_shape shape{{0, 0, 1}};
  board_memory memory{board::required_bytes(shape)};
};

TEST_F(board_layout_test, attaches_to_what_was_initialised) {
  const board made = board::initialise(memory.span(), shape, operations);
  const board attached = board::attach(memory.span(), operations);
  EXPECT_TRUE(made.is_valid());
  EXPECT_TRUE(attached.is_valid());
  EXPECT_EQ(attached.pe_count(), 3u);
  EXPECT_EQ(attached.process_count(), 2u);
  EXPECT_EQ(attached.process_of(2), 1u);
  EXPECT_THROW(attached.process_of(3), std::invalid_argument);
}

TEST_F(board_layout_test, refuses_memory_that_does_not_fit) {
  const auto all = memory.span();
  EXPECT_THAT([&] { board::initialise(all.first(all.size() - 1), shape, operations); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("bytes of memory given")));
  EXPECT_THAT([&] { board::initialise(all.subspan(8), shape, operations); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("not on a cache line")));
  EXPECT_THROW(board::initialise({}, shape, operations), std::invalid_argument);
}

TEST_F(board_layout_test, refuses_shapes_that_cannot_be) {
  EXPECT_THAT([] { board::required_bytes({}); }, ThrowsMessage<std::invalid_argument>(HasSubstr("0 PEs")));
  EXPECT_THAT([] { board::required_bytes({std::vector<std::uint32_t>(1025, 0)}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("1025 PEs on the host; it must be 1 to 1024")));
  EXPECT_THAT(
      [] {
        board::required_bytes({{0, 7}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("8 processes with 2")));
}

TEST_F(board_layout_test, attaching_believes_nothing) {
  expect_refused("no initialised board");
  board::initialise(memory.span(), shape, operations);
  header().version = 9;
  expect_refused("version 9 in memory, 2 in this program");
  board::initialise(memory.span(), shape, operations);
  header().slots_of_pe = 5;
  expect_refused("5 slots per PE");
  board::initialise(memory.span(), shape, operations);
  header().pe_count = 4000000000u;
  expect_refused("4000000000 PEs");
  board::initialise(memory.span(), shape, operations);
  header().pe_count = 4;
  expect_refused("4 PEs and 2 processes need");
  board::initialise(memory.span(), shape, operations);
  header().bytes += 64;
  expect_refused("bytes according to the header");
  board::initialise(memory.span(), shape, operations);
  std::memset(memory.span().data() + sizeof(board_header), 0xff, 12);
  expect_refused("PE 0 belongs to process 4294967295");
}

TEST_F(board_layout_test, attaching_needs_the_same_operations) {
  board::initialise(memory.span(), shape, operations);
  operation_table later;
  EXPECT_THROW(board::attach(memory.span(), later), std::invalid_argument);
  later.chunks.add("reduce", nothing);
  later.progress.add("match", no_progress);
  EXPECT_THAT([&] { board::attach(memory.span(), later); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("the same ones in the same order")));
  operations.chunks.add("known here only", nothing);  // more behind the common ones is allowed
  EXPECT_TRUE(board::attach(memory.span(), operations).is_valid());
}

TEST_F(board_layout_test, notices_a_damaged_slot) {
  const board made = board::initialise(memory.span(), shape, operations);
  board_pe pe = made.join(0);
  task_spec spec;
  spec.operation = 0;
  spec.total = 10;
  spec.participants = 3;
  const task_handle task = pe.post(spec).handle;
  EXPECT_TRUE(made.is_valid());
  const board_view view = board_view::over(memory.span().data(), 3, 2, operations);
  const std::uint64_t good = view.lines_of_slot(task.slot)[1].claim.exchange(pack_claim({0, 99}));
  EXPECT_FALSE(made.is_valid());
  view.lines_of_slot(task.slot)[1].claim = good;
  EXPECT_TRUE(made.is_valid());
  pe.finish(task);
}

TEST_F(board_layout_test, joining_checks_the_victim_order) {
  const board made = board::initialise(memory.span(), shape, operations);
  const auto refused = [&](std::uint32_t pe, std::vector<std::uint32_t> order, const char* text) {
    EXPECT_THAT([&] { made.join(pe, order); }, ThrowsMessage<std::invalid_argument>(HasSubstr(text)));
  };
  refused(3, {0, 1}, "PE 3 joins");
  refused(0, {1}, "has 1 PEs, all 2 others");
  refused(0, {1, 1}, "has 1, which is there twice");
  refused(0, {1, 0}, "has 0, which is the PE itself");
  refused(0, {1, 3}, "has 3, which is no PE of the board");
  EXPECT_THROW(made.join(3), std::invalid_argument);
  EXPECT_THAT(made.join(0, std::vector<std::uint32_t>{2, 1}).order(), testing::ElementsAre(2, 1));
}

TEST(operation_table, registers_in_order_and_refuses_mistakes) {
  operation_table table;
  EXPECT_EQ(table.chunks.add("a", nothing), 0u);
  EXPECT_EQ(table.chunks.add("b", nothing), 1u);
  EXPECT_EQ(table.chunks.find(1), &nothing);
  EXPECT_EQ(table.chunks.find(2), nullptr);
  EXPECT_THAT([&] { table.chunks.add("a", nothing); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("'a' is registered already")));
  EXPECT_THAT([&] { table.chunks.add("", nothing); }, ThrowsMessage<std::invalid_argument>(HasSubstr("needs a name")));
  EXPECT_THAT([&] { table.chunks.add("c", nullptr); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("'c' has no function")));
  EXPECT_THAT([&] { table.progress.check(3); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("progress operation 3 is not registered")));
  operation_table other;
  other.chunks.add("ab", nothing);
  operation_table third;
  third.chunks.add("a", nothing);
  EXPECT_NE(other.chunks.fingerprint(1), third.chunks.fingerprint(1));
  for (std::uint32_t id = 2; id < table.chunks.capacity; ++id) table.chunks.add(std::to_string(id), nothing);
  EXPECT_THROW(table.chunks.add("too many", nothing), std::length_error);
}

}  // namespace
}  // namespace tri::board
