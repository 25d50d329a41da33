// The engine itself - inbox, matching, rendezvous, waiting, as the drop-in runs them - through all interleavings of a
// few ranks and messages (explore/interleavings.hpp). In place of the real things stand the board, the allocator, the
// endpoint's lock and the policy of waiting (fakes/), and a clock of processor time; everything else is compiled from
// src/mpi.
//
// Shown of every schedule: each receive gets the message that MPI promises, whole; nobody sleeps on beside what it
// waits for; nothing is used after it was given back, by whichever process; what one process writes and another reads
// is ordered by the named atomics; no record is left over.
#include "mpi/engine/engine.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "explore/interleavings.hpp"
#include "mpi/engine/core_share.hpp"
#include "mpi/engine/rank_trace.hpp"
#include "mpi/engine/shm_collective.hpp"
#include "trace/recorder.hpp"

// No trace is on here: these are named, and never called.
namespace tri::trace {
void recorder::write_out() { std::abort(); }
}  // namespace tri::trace

namespace tri::mpi {
void rank_trace::copied(const endpoint&, const endpoint&, std::uint64_t, std::uint64_t) { std::abort(); }

// The policy of waiting, which would be told by it, is a stand-in.
std::optional<std::int64_t> processor_time_ns(pid_t) { return 0; }

namespace {

using explore::check;
using explore::fail;

constexpr std::size_t eager_bytes = 8;
constexpr std::size_t two_cell_bytes = 36;     // where the inbox has that many for one message; else in a block
constexpr std::size_t block_bytes = 48;        // in a block, or in three cells where the inbox has these
constexpr std::size_t rendezvous_bytes = 128;  // see `scope`
constexpr std::size_t most_buffers = 4;        // of a rank

// Addresses of buffers that other processes do not reach.
std::byte* private_begin = nullptr;
std::byte* private_end = nullptr;
void* shared_unless_private(const void* address, std::size_t) {
  const auto* const at = static_cast<const std::byte*>(address);
  return at >= private_begin && at < private_end ? nullptr : const_cast<void*>(address);
}

struct scope {
  std::uint64_t cells = 8;
  std::int64_t producers = -1;  // that the inbox keeps cells free for; all ranks
  int used_cells = 0;           // that were used before
  std::int64_t inlined = -1;    // messages of rank 0 that must have travelled in cells, none in a block; any
  bool meets = false;           // there is a shared barrier; the last to leave gives it back
  bool private_buffers = false;
  bool shares_copies = true;
  std::size_t most_unexpected_bytes = std::size_t{1} << 20;
};

class rank {
 public:
  rank(engine& mine, board::board_pe& board, std::span<endpoint* const> endpoints, std::byte* buffers,
       std::atomic<std::uint32_t>* flags)
      : engine_(mine), board_(board), endpoints_(endpoints), buffers_(buffers), flags_(flags) {}
  engine& operator*() { return engine_; }
  engine* operator->() { return &engine_; }
  std::uint32_t number() const { return engine_.number(); }

  /// Sends `bytes` bytes of `value` from buffer `buffer`; null when the buffer is free again.
  send_record* send(std::uint32_t to, std::int32_t tag, std::uint8_t value, std::size_t bytes,
                    send_mode mode = send_mode::standard, std::size_t buffer = 0) {
    std::byte* const data = at(buffer);
    std::memset(data, value, bytes);
    return engine_.send(to, {1, static_cast<std::int32_t>(number()), tag}, {data, bytes}, mode);
  }
  void finish(send_record* record) {
    if (record == nullptr) return;
    engine_.wait([&] { return engine::is_done(*record); });
    engine_.release(record);
  }
  receive_record* post(std::int32_t from, std::int32_t tag, std::size_t bytes, std::size_t buffer = 1) {
    const message_key key{1, from, tag};
    found_message found;
    if (receive_record* const record = engine_.receive(key, {at(buffer), bytes}, touch_order::unknown, found))
      return record;
    // Its message was there. Those who call look at a record.
    receive_record* const ended = engine_.make_receive(key, {at(buffer), bytes});
    ended->taken = found.key;
    ended->bytes = found.bytes;
    ended->state.store(progress_state::complete, std::memory_order_release);
    return ended;
  }
  /// Waits for it; then the buffer is all `value`.
  void finish(receive_record* record, std::uint8_t value, std::size_t bytes) {
    engine_.wait([&] { return engine_.is_done(*record); });
    expect(record, value, bytes);
  }
  void expect(receive_record* record, std::uint8_t value, std::size_t bytes) {
    check(record->bytes == bytes, "a message has another length than was sent");
    check(record->failed == 0, "a copy failed");
    const std::byte* const data = record->buffer.address;
    for (std::size_t i = 0; i < bytes; ++i)
      check(data[i] == std::byte{value}, "a receive has another message than MPI promises, or a part of it");
    engine_.release(record);
  }
  /// The same without knowing which: its value.
  std::uint8_t finish_any(receive_record* record, std::size_t bytes) {
    engine_.wait([&] { return engine_.is_done(*record); });
    const auto value = static_cast<std::uint8_t>(*record->buffer.address);
    check(record->taken.tag == value, "the status tells of another message");
    expect(record, value, bytes);
    return value;
  }
  /// Does for rank `number` what can be done.
  void help(std::uint32_t number) { engine_.progress_for(*endpoints_[number]); }
  /// Runs what lies on the board.
  void help_on_board() {
    board_.help([] { return true; });
  }
  /// Without any call of ours; whoever calls must not be needed.
  template <class Record>
  static void compute_until_complete(const Record& record) {
    while (!record.is_complete()) {
    }
  }
  void set_flag() { flags_[number()].store(1, std::memory_order_relaxed); }
  std::uint32_t flag(std::uint32_t of) { return flags_[of].load(std::memory_order_relaxed); }
  void set_place(shm_collective* place) { place_ = place; }
  shm_collective& place() { return *place_; }
  void wake_all() {
    for (std::uint32_t other = 0; other < endpoints_.size(); ++other)
      if (other != number()) engine_.wake(other);
  }
  /// Puts `part` down and gives the sum of all parts of the `count`-th barrier.
  std::uint8_t meet(std::uint64_t count, std::uint8_t part) {
    if (place_->arrive(number(), &part, 1)) {
      std::uint8_t sum = 0;
      for (std::uint32_t other = 0; other < endpoints_.size(); ++other)
        sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(*place_->data_of(other)));
      *place_->outcome() = std::byte{sum};
      place_->end();
      wake_all();
    } else {
      engine_.wait([&] { return place_->has_ended(count); });
    }
    return static_cast<std::uint8_t>(*place_->outcome());
  }
  /// The same by an exchange.
  std::uint8_t exchange(std::uint64_t count, std::uint8_t part) {
    place_->offer(number(), count, &part, 1);
    for (std::uint32_t other = 0; other < endpoints_.size(); ++other)
      if (other != number()) engine_.wake_after_store(other);
    std::uint8_t sum = 0;
    for (std::uint32_t other = 0; other < endpoints_.size(); ++other) {
      engine_.wait([&] { return place_->has_offered(other, count); });
      sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(*place_->offered_by(other, count)));
    }
    return sum;
  }
  void leave_place() {
    if (place_->leave_for_good()) explore::watched_release(place_);
  }
  std::byte* at(std::size_t buffer) { return buffers_ + buffer * rendezvous_bytes; }

 private:
  engine& engine_;
  board::board_pe& board_;
  std::span<endpoint* const> endpoints_;
  std::byte* buffers_;
  std::atomic<std::uint32_t>* flags_;
  shm_collective* place_ = nullptr;
};

using body = std::function<void(rank&)>;

class ranks : public explore::scenario {
 public:
  ranks(const scope& limits, std::vector<body> bodies) : limits_(limits), bodies_(std::move(bodies)) {}
  ~ranks() override { drop(); }

  int agents() const override { return static_cast<int>(bodies_.size()); }

  void begin() override {
    drop();
    const std::size_t count = bodies_.size();
    auto* const board = new (explore::watched_allocate(sizeof(board::shared_board))) board::shared_board;
    explore::ignore(&board::operation_table::of_process(), sizeof(board::operation_table));
    for (std::uint32_t number = 0; number < count; ++number) {
      auto* const mine = new (explore::watched_allocate(sizeof(endpoint))) endpoint;
      auto* const cells = static_cast<inbox_cell*>(explore::watched_allocate(limits_.cells * sizeof(inbox_cell)));
      mine->inbox.initialise(cells, limits_.cells,
                             limits_.producers < 0 ? count : static_cast<std::uint64_t>(limits_.producers));
      for (int i = 0; i < limits_.used_cells; ++i) {
        mine->inbox.push([](inbox_cell& cell) { cell.kind = message_kind::in_block; });
        mine->inbox.pop();
      }
      mine->inbox.publish_read();
      mine->number = number;
      mine->process = getpid();
      explore::ignore(&mine->counters, sizeof mine->counters);
      endpoints_.push_back(mine);
    }
    const std::size_t of_one = most_buffers * rendezvous_bytes;
    auto* const buffers = static_cast<std::byte*>(explore::watched_allocate(count * of_one));
    auto* const flags = new (explore::watched_allocate(count * 4)) std::atomic<std::uint32_t>[count];
    private_begin = limits_.private_buffers ? buffers + of_one : nullptr;  // those of rank 1
    private_end = limits_.private_buffers ? buffers + 2 * of_one : nullptr;
    engine_options options;
    options.rendezvous_from = 64;
    options.most_unexpected_bytes = limits_.most_unexpected_bytes;
    options.most_eager_buffers = 1;
    options.sharing.from = limits_.shares_copies ? 64 : 1 << 20;
    options.oversubscribed = true;
    for (std::uint32_t number = 0; number < count; ++number) {
      boards_.push_back(std::make_unique<board::board_pe>(*board, number));
      engines_.push_back(std::make_unique<engine>(endpoints_, number, *boards_.back(), blocks_, options));
      engines_.back()->set_shared_memory(&shared_unless_private);
      ranks_.emplace_back(*engines_.back(), *boards_.back(), endpoints_, buffers + number * of_one, flags);
    }
    blocks_at_begin_ = explore::watched_blocks();
    if (!limits_.meets) return;
    const auto members = static_cast<std::uint32_t>(count);
    shm_collective* const place =
        shm_collective::create(explore::watched_allocate(shm_collective::size_for(members)), members);
    for (rank& each : ranks_) each.set_place(place);
  }

  void run(int agent) override { bodies_[static_cast<std::size_t>(agent)](ranks_[static_cast<std::size_t>(agent)]); }

  void end() override {
    for (endpoint* const each : endpoints_) {
      check(each->matching.posted() == 0, "a receive is left over");
      check(each->matching.arrived() == 0 && !each->inbox.has_message(), "a message is left over");
      check(each->unexpected_bytes == 0, "the unexpected bytes were not counted down");
      check(!each->inbox.is_asleep(), "somebody is marked asleep at the end");
    }
    if (limits_.inlined >= 0) {
      check(endpoints_[0]->counters.inlined == static_cast<std::uint64_t>(limits_.inlined) &&
                endpoints_[0]->counters.eager == 0,
            "a message did not travel in cells");
    }
    ranks_.clear();
    engines_.clear();  // their eager buffers go, but for one that nobody has given back
    check(explore::watched_blocks() == blocks_at_begin_, "a record or a buffer is left over");
  }

 private:
  void drop() {
    ranks_.clear();
    // Engines of a run that was cut short stand in the middle of something: forgotten, not ended.
    for (auto& each : engines_) static_cast<void>(each.release());
    engines_.clear();
    boards_.clear();
    endpoints_.clear();
  }

  scope limits_;
  std::vector<body> bodies_;
  std::vector<endpoint*> endpoints_;
  std::vector<std::unique_ptr<board::board_pe>> boards_;
  std::vector<std::unique_ptr<engine>> engines_;
  std::vector<rank> ranks_;
  arena::block_cache blocks_;
  std::size_t blocks_at_begin_ = 0;
};

explore::interleavings expect_all_sound(const scope& limits, std::vector<body> bodies, std::uint64_t least_runs,
                                        const explore::exploration& how = {}) {
  ranks all(limits, std::move(bodies));
  const explore::interleavings result = explore::run_all(all, how);
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete) << result.text();
  EXPECT_GE(result.runs, least_runs) << result.text();
  std::printf("%s\n", result.text().c_str());
  return result;
}

// ---- inbox, matching, sleep

const body sends_two = [](rank& me) {
  me.finish(me.send(1, 5, 11, eager_bytes));
  me.finish(me.send(1, 5, 12, eager_bytes));
};

TEST(engine_interleavings, messages_of_one_sender_keep_their_order) {
  expect_all_sound({},
                   {sends_two,
                    [](rank& me) {
                      receive_record* const first = me.post(0, any_tag, eager_bytes, 1);
                      receive_record* const second = me.post(any_source, 5, eager_bytes, 2);
                      me.finish(second, 12, eager_bytes);
                      me.finish(first, 11, eager_bytes);
                    }},
                   100);
}

TEST(engine_interleavings, a_helper_reads_beside_the_owner) {
  expect_all_sound({},
                   {sends_two,
                    [](rank& me) {
                      me.finish(me.post(0, any_tag, eager_bytes, 1), 11, eager_bytes);
                      me.finish(me.post(any_source, 5, eager_bytes, 2), 12, eager_bytes);
                    },
                    [](rank& me) { me.help(1); }},
                   100);
}

TEST(engine_interleavings, of_two_senders_each_receive_gets_one) {
  expect_all_sound({},
                   {[](rank& me) { me.finish(me.send(2, 11, 11, eager_bytes)); },
                    [](rank& me) { me.finish(me.send(2, 12, 12, eager_bytes)); },
                    [](rank& me) {
                      receive_record* const first = me.post(any_source, any_tag, eager_bytes, 1);
                      receive_record* const second = me.post(any_source, any_tag, eager_bytes, 2);
                      const std::uint8_t one = me.finish_any(first, eager_bytes);
                      check(one + me.finish_any(second, eager_bytes) == 23, "one message came twice");
                    }},
                   100);
}

// An inbox of four cells, margin two: the sender finds it full and empties it itself.
TEST(engine_interleavings, a_full_inbox_is_emptied_by_its_sender) {
  expect_all_sound({.cells = 4},
                   {[](rank& me) {
                      for (const std::uint8_t value : std::to_array<std::uint8_t>({11, 12, 13}))
                        me.finish(me.send(1, 5, value, eager_bytes));
                    },
                    [](rank& me) {
                      receive_record* const first = me.post(0, 5, eager_bytes, 1);
                      receive_record* const second = me.post(0, 5, eager_bytes, 2);
                      me.finish(me.post(0, 5, eager_bytes, 3), 13, eager_bytes);
                      me.expect(first, 11, eager_bytes);
                      me.expect(second, 12, eager_bytes);
                    }},
                   100);
}

// An inbox of one cell, which the second message gets when the first one was read, by its receiver or by its sender,
// which finds no room.
TEST(engine_interleavings, a_cell_of_the_inbox_is_used_again) {
  expect_all_sound({.cells = 1, .producers = 0},
                   {sends_two,
                    [](rank& me) {
                      receive_record* const first = me.post(0, 5, eager_bytes, 1);
                      me.finish(me.post(0, 5, eager_bytes, 2), 12, eager_bytes);
                      me.expect(first, 11, eager_bytes);
                    }},
                   100);
}

// Data in several cells: no rank sees the first without the others, and a helper reads as the owner does. Two are
// written at once, three by parts.
TEST(engine_interleavings, messages_in_several_cells_arrive_whole) {
  for (const std::size_t bytes : {two_cell_bytes, block_bytes}) {
    const std::uint64_t of_each_rank = bytes == two_cell_bytes ? 8 : 16;
    const body sends = [bytes](rank& me) { me.finish(me.send(1, 5, 11, bytes)); };
    const body receives = [bytes](rank& me) { me.finish(me.post(0, 5, bytes, 1), 11, bytes); };
    const body sends_three = [bytes](rank& me) {
      me.finish(me.send(1, 5, 11, bytes));
      me.finish(me.send(1, 5, 12, eager_bytes));
      me.finish(me.send(1, 5, 13, bytes));
    };
    const body receives_three = [bytes](rank& me) {
      receive_record* const first = me.post(0, 5, bytes, 1);
      receive_record* const second = me.post(0, 5, eager_bytes, 2);
      me.finish(me.post(0, 5, bytes, 3), 13, bytes);
      me.expect(first, 11, bytes);
      me.expect(second, 12, eager_bytes);
    };
    expect_all_sound({.cells = 2 * of_each_rank, .inlined = 3}, {sends_three, receives_three}, 50);
    expect_all_sound({.cells = 2 * of_each_rank, .inlined = 1}, {sends, receives}, 40, {.old_reads = 2});
    expect_all_sound({.cells = 4 * of_each_rank, .inlined = 1}, {sends, receives, [](rank& me) { me.help(1); }}, 50);
  }
}

// A further cell of the first message is the first one of the ring again; the cells of both had been first ones.
TEST(engine_interleavings, further_cells_are_used_again) {
  const auto expect_sound = [](const scope& limits, std::size_t bytes) {
    const body sends_both = [bytes](rank& me) {
      me.finish(me.send(1, 5, 11, bytes));
      me.finish(me.send(1, 5, 12, bytes));
    };
    const body receives_both = [bytes](rank& me) {
      receive_record* const first = me.post(0, 5, bytes, 1);
      me.finish(me.post(0, 5, bytes, 2), 12, bytes);
      me.expect(first, 11, bytes);
    };
    expect_all_sound(limits, {sends_both, receives_both}, 50);
  };
  for (const int used : {7, 15})
    expect_sound({.cells = 8, .producers = 1, .used_cells = used, .inlined = 2}, two_cell_bytes);
  for (const int used : {14, 15})
    expect_sound({.cells = 16, .producers = 1, .used_cells = used, .inlined = 2}, block_bytes);
}

// ---- eager buffers

// The second message takes the buffer of the first one, when that has been read by then, or a block. Who reads it
// is the receiver, or who helps it.
TEST(engine_interleavings, an_eager_buffer_is_used_again_when_it_has_been_read) {
  const body sends_two_large = [](rank& me) {
    me.finish(me.send(1, 5, 11, block_bytes));
    me.finish(me.send(1, 5, 12, block_bytes));
  };
  const body receives_two_large = [](rank& me) {
    me.finish(me.post(0, 5, block_bytes, 1), 11, block_bytes);
    me.finish(me.post(0, 5, block_bytes, 2), 12, block_bytes);
  };
  expect_all_sound({}, {sends_two_large, receives_two_large}, 50);
  expect_all_sound({}, {sends_two_large, receives_two_large}, 50, {.old_reads = 2});
  expect_all_sound({.shares_copies = false}, {sends_two_large, receives_two_large, [](rank& me) { me.help(1); }}, 50);
}

// ---- shared barriers

// The second barrier begins while some have not yet seen the end of the first one.
TEST(engine_interleavings, ranks_meet_again_and_again) {
  const body meets_twice = [](rank& me) {
    check(me.meet(1, static_cast<std::uint8_t>(10 + me.number())) == 21, "the first barrier has another outcome");
    check(me.meet(2, static_cast<std::uint8_t>(20 + me.number())) == 41, "the second barrier has another outcome");
    me.leave_place();
  };
  expect_all_sound({.meets = true}, {meets_twice, meets_twice}, 50);
  const body meets_once = [](rank& me) {
    check(me.meet(1, static_cast<std::uint8_t>(10 + me.number())) == 33, "the barrier has another outcome");
    me.leave_place();
  };
  expect_all_sound({.meets = true}, {meets_once, meets_once, meets_once}, 100);
}

// A line is used again in the third step, when some may still be in the second.
TEST(engine_interleavings, ranks_exchange_again_and_again) {
  const body exchanges = [](rank& me) {
    for (std::uint8_t step = 1; step <= 3; ++step)
      check(me.exchange(step, static_cast<std::uint8_t>(10 * step + me.number())) == 20 * step + 1,
            "a step has another outcome");
    me.leave_place();
  };
  expect_all_sound({.meets = true}, {exchanges, exchanges}, 50);
  const auto exchanges_once = [](std::uint8_t sum) {
    return [sum](rank& me) {
      check(me.exchange(1, static_cast<std::uint8_t>(10 + me.number())) == sum, "the exchange has another outcome");
      me.leave_place();
    };
  };
  expect_all_sound({.meets = true}, {exchanges_once(21), exchanges_once(21)}, 50, {.old_reads = 2});
  expect_all_sound({.meets = true}, {exchanges_once(33), exchanges_once(33), exchanges_once(33)}, 100);
}

// Two barriers are begun before the first one is waited for; flags tell what was done before.
TEST(engine_interleavings, nonblocking_barriers_end_when_all_have_entered_them) {
  const body begins_two = [](rank& me) {
    for (int i = 0; i < 2; ++i) {
      if (i == 0) me.set_flag();
      if (me.place().enter(me.number())) me.wake_all();
    }
    for (std::uint64_t count = 1; count <= 2; ++count) {
      me->wait([&] { return me.place().have_all_entered(count); });
      check(me.flag(1 - me.number()) == 1, "a barrier ended before all had begun it");
    }
    me.leave_place();
  };
  expect_all_sound({.meets = true}, {begins_two, begins_two}, 50);
}

// ---- rendezvous

TEST(engine_interleavings, both_sides_of_a_rendezvous_complete) {
  for (const bool shared : {false, true}) {
    expect_all_sound({.shares_copies = shared},
                     {[](rank& me) { me.finish(me.send(1, 5, 11, rendezvous_bytes)); },
                      [](rank& me) { me.finish(me.post(0, 5, rendezvous_bytes), 11, rendezvous_bytes); }},
                     10);
  }
}

TEST(engine_interleavings, idle_ranks_copy_chunks) {
  expect_all_sound({},
                   {[](rank& me) {
                      send_record* const record = me.send(1, 5, 11, rendezvous_bytes);
                      me.help_on_board();
                      me.compute_until_complete(*record);
                      me->release(record);
                    },
                    [](rank& me) { me.finish(me.post(0, 5, rendezvous_bytes), 11, rendezvous_bytes); },
                    [](rank& me) { me.help_on_board(); }},
                   100);
}

// Who was matched goes on to compute: the sender, which may sleep, copies what is left.
TEST(engine_interleavings, a_copy_that_is_left_is_done_by_its_sender) {
  expect_all_sound({},
                   {[](rank& me) { me.finish(me.send(1, 5, 11, rendezvous_bytes)); },
                    [](rank& me) {
                      receive_record* const record = me.post(0, 5, rendezvous_bytes);
                      me->leave();
                      me.compute_until_complete(*record);
                      me.finish(record, 11, rendezvous_bytes);
                    }},
                   10);
}

// A receive on a computing rank: the sender waits, and is the only one who can do anything.
TEST(engine_interleavings, a_receive_completes_while_its_rank_computes) {
  const explore::interleavings result =
      expect_all_sound({},
                       {[](rank& me) { me.finish(me.send(1, 5, 11, rendezvous_bytes)); },
                        [](rank& me) {
                          receive_record* const record = me.post(0, 5, rendezvous_bytes);
                          me->leave();
                          me.compute_until_complete(*record);
                          me.finish(record, 11, rendezvous_bytes);
                        },
                        [](rank& me) { me.help(1); }},
                       100);
  EXPECT_GT(result.timeouts, 0u) << "helpers look for offering ranks now and then; here one should have had to";
}

// A sender that goes to sleep and a rank that goes on to compute do not miss each other, whatever the processor lets
// them see: the sender copies its message itself.
TEST(engine_interleavings, a_sleeping_and_a_leaving_rank_see_each_other_with_old_values) {
  for (const std::size_t bytes : {block_bytes, rendezvous_bytes}) {
    for (const bool shared : {false, true}) {
      expect_all_sound({.shares_copies = shared},
                       {[=](rank& me) { me.finish(me.send(1, 5, 11, bytes, send_mode::synchronous)); },
                        [=](rank& me) {
                          receive_record* const record = me.post(0, 5, bytes);
                          me->leave();
                          me.compute_until_complete(*record);
                          me.finish(record, 11, bytes);
                        }},
                       10, {.old_reads = 2});
    }
  }
}

// The same messages as above, of which some looks find an older value.
TEST(engine_interleavings, messages_arrive_with_old_values) {
  const explore::exploration with_old_values{.old_reads = 1};
  expect_all_sound({},
                   {sends_two,
                    [](rank& me) {
                      receive_record* const first = me.post(0, any_tag, eager_bytes, 1);
                      receive_record* const second = me.post(any_source, 5, eager_bytes, 2);
                      me.finish(second, 12, eager_bytes);
                      me.finish(first, 11, eager_bytes);
                    }},
                   100, with_old_values);
  for (const bool shared : {false, true})
    expect_all_sound({.shares_copies = shared},
                     {[](rank& me) { me.finish(me.send(1, 5, 11, rendezvous_bytes)); },
                      [](rank& me) { me.finish(me.post(0, 5, rendezvous_bytes), 11, rendezvous_bytes); }},
                     10, with_old_values);
  const body meets_twice = [](rank& me) {
    check(me.meet(1, static_cast<std::uint8_t>(10 + me.number())) == 21, "the first barrier has another outcome");
    check(me.meet(2, static_cast<std::uint8_t>(20 + me.number())) == 41, "the second barrier has another outcome");
    me.leave_place();
  };
  expect_all_sound({.meets = true}, {meets_twice, meets_twice}, 50, with_old_values);
}

// ---- what a helper cannot reach

TEST(engine_interleavings, what_a_helper_cannot_fill_is_set_aside) {
  for (const std::size_t bytes : {eager_bytes, block_bytes, rendezvous_bytes}) {
    expect_all_sound({.private_buffers = true},
                     {[=](rank& me) { me.finish(me.send(1, 5, 11, bytes)); },
                      [=](rank& me) { me.finish(me.post(0, 5, bytes), 11, bytes); }, [](rank& me) { me.help(1); }},
                     100);
  }
}

// ---- withdrawal

TEST(engine_interleavings, a_receive_is_withdrawn_or_has_its_message) {
  for (const std::size_t bytes : {eager_bytes, block_bytes, rendezvous_bytes}) {
    expect_all_sound({.shares_copies = false},
                     {[=](rank& me) { me.finish(me.send(1, 5, 11, bytes)); },
                      [=](rank& me) {
                        receive_record* const record = me.post(0, 5, bytes, 1);
                        if (me->cancel(*record)) {
                          me->release(record);
                          me.finish(me.post(0, 5, bytes, 2), 11, bytes);
                        } else {
                          me.finish(record, 11, bytes);
                        }
                      },
                      [](rank& me) { me.help(1); }},
                     100);
  }
}

TEST(engine_interleavings, a_private_receive_is_withdrawn_or_has_its_message) {
  expect_all_sound({.private_buffers = true},
                   {[=](rank& me) { me.finish(me.send(1, 5, 11, block_bytes)); },
                    [=](rank& me) {
                      receive_record* const record = me.post(0, 5, block_bytes, 1);
                      if (me->cancel(*record)) {
                        me->release(record);
                        me.finish(me.post(0, 5, block_bytes, 2), 11, block_bytes);
                      } else {
                        me.finish(record, 11, block_bytes);
                      }
                    },
                    [](rank& me) { me.help(1); }},
                   100);
}

// ---- messages that come first

TEST(engine_interleavings, a_message_that_was_found_stays_and_one_that_was_taken_is_received) {
  for (const std::size_t bytes : {eager_bytes, block_bytes, rendezvous_bytes}) {
    expect_all_sound({.shares_copies = false},
                     {[=](rank& me) {
                        send_record* const first = me.send(1, 5, 11, bytes);
                        send_record* const second = me.send(1, 5, 12, bytes, send_mode::standard, 2);
                        me.finish(first);
                        me.finish(second);
                      },
                      [=](rank& me) {
                        const message_key key{1, any_source, 5};
                        me->wait([&] { return me->find(key).has_value(); });
                        arrived_message* const taken = me->take(key);
                        check(taken != nullptr, "a message that was found is gone");
                        me.finish(me.post(0, 5, bytes, 2), 12, bytes);
                        receive_record* const record = me->make_receive(key, {me.at(1), bytes});
                        me->post(*record, *taken);
                        me.finish(record, 11, bytes);
                      }},
                     100);
  }
}

TEST(engine_interleavings, a_synchronous_send_ends_when_its_receive_has_begun) {
  expect_all_sound({},
                   {[](rank& me) {
                      me.finish(me.send(1, 5, 11, eager_bytes, send_mode::synchronous));
                      check(me.flag(1) == 1, "a synchronous send ended before its receive");
                    },
                    [](rank& me) {
                      me.set_flag();
                      me.finish(me.post(0, 5, eager_bytes), 11, eager_bytes);
                    },
                    [](rank& me) { me.help(1); }},
                   100);
}

// Beyond what may be kept, senders hold their data back; nothing is lost on the way.
TEST(engine_interleavings, a_full_receiver_makes_senders_hold_back) {
  expect_all_sound({.most_unexpected_bytes = 1},
                   {[](rank& me) {
                      send_record* const first = me.send(1, 5, 11, block_bytes, send_mode::standard, 0);
                      send_record* const second = me.send(1, 6, 12, block_bytes, send_mode::standard, 1);
                      me.finish(first);
                      me.finish(second);
                    },
                    [](rank& me) {
                      me.finish(me.post(0, 6, block_bytes, 2), 12, block_bytes);
                      me.finish(me.post(0, 5, block_bytes, 1), 11, block_bytes);
                    }},
                   100);
}

// Both send first: whoever waits must serve the other.
TEST(engine_interleavings, two_ranks_exchange) {
  for (const std::size_t bytes : {eager_bytes, rendezvous_bytes}) {
    const auto exchange = [=](rank& me) {
      const std::uint32_t other = 1 - me.number();
      send_record* const sent = me.send(other, 5, static_cast<std::uint8_t>(11 + me.number()), bytes);
      me.finish(me.post(static_cast<std::int32_t>(other), 5, bytes), static_cast<std::uint8_t>(11 + other), bytes);
      me.finish(sent);
    };
    expect_all_sound({.shares_copies = false}, {exchange, exchange}, 20);
  }
}

}  // namespace
}  // namespace tri::mpi
