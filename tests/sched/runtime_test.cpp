// PEs at work, with handlers of the scheduler's own level: order of work, counting (all_processed), timers, sleep with
// more PEs than cores, stopping in the middle of things. Nobody sleeps with a time limit here: a wake-up that is
// missing hangs, and ctest ends the test.
#include "sched/process_runtime.hpp"

#include <gmock/gmock.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <random>

#include "os/clock.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::sched {
namespace {

constexpr std::uint64_t scaled(std::uint64_t count) { return os::under_thread_sanitizer ? count / 10 : count; }

// The tests of one process share these; each test resets what it uses before it starts its PEs.
std::atomic<bool> finished{false};
std::atomic<std::uint64_t> created{0}, done{0}, misplaced{0};
std::vector<std::string> order;
std::atomic<void*> payload_seen{nullptr};
std::atomic<int> children{0};
std::function<bool()> awaited;  // what PE 0 waits for, if others bring it about without a message to PE 0

envelope message_for(std::uint32_t handler, std::uint64_t element = 0, std::uint32_t collection = 0) {
  envelope made{};
  made.handler = handler;
  made.element = element;
  made.collection = collection;
  made.kind = payload_kind::direct;
  return made;
}

config::configuration values_for(int pes, std::initializer_list<std::pair<const char*, const char*>> settings = {}) {
  config::configuration values;
  values.set("pes", std::to_string(pes));
  values.set("arena_window_bytes", std::to_string(std::size_t{256} << 20));
  values.set("longest_sleep_ms", "0");
  values.set("stall_report_s", "0");
  for (const auto& [name, value] : settings) values.set(name, value);
  return values;
}

int run(
    const config::configuration& values, const std::function<int(pe&)>& main_program,
    const std::function<void(pe&)>& finish = [](pe&) {}, const std::function<void(pe&)>& prepare_more = [](pe&) {}) {
  finished = false;
  created = done = misplaced = 0;
  order.clear();
  process_runtime job(values);
  // PE 0 hears when the others fall asleep, and stays awake once what it waits for has come.
  const auto prepare = [&](pe& here) {
    prepare_more(here);
    if (here.number() != 0) return;
    awaited = nullptr;
    here.job().own_host().listener.listen(0);
    here.add_idle_hook([] { return awaited && awaited(); });
  };
  return job.run({.prepare = prepare,
                  .main_program = [&] { return main_program(this_pe()); },
                  .drop_held = {},
                  .finish = finish,
                  .finish_process = {},
                  .leave = {}});
}

void wait(pe& here) {
  here.run_until([] { return finished.load(); }, true);
}

// For something that is the case once certain other PEs have fallen asleep.
void wait_until(pe& here, const std::function<bool()>& condition) {
  awaited = condition;
  here.run_until(condition);
  awaited = nullptr;
}

void wait_until_quiet(
    pe& here, const std::function<void()>& when_quiet = [] {}) {
  wait_until(here, [&] { return here.job().counts_of_host().all_processed(); });
  when_quiet();
}

// Tells the waiting main program, on whose PE this must run.
void finish_here(pe&, envelope&) { finished = true; }
const std::uint32_t finish_handler = register_handler(&finish_here, "test.finish");

// ---- a ring on more PEs than cores

void hop(pe& here, envelope& message) {
  if (message.element == 0) {
    finished = true;
    return;
  }
  here.send_copy((here.number() + 1) % here.job().pes(), message_for(message.handler, message.element - 1));
}
const std::uint32_t hop_handler = register_handler(&hop, "test.hop");

TEST(oversubscribed, eight_pes_pass_a_token_and_sleep_meanwhile) {
  std::atomic<std::uint64_t> sleeps{0};
  const auto count = [&](pe& here) { sleeps += here.counters().sleeps.read(); };
  const int status = run(
      values_for(8, {}),
      [](pe& here) {
        here.send_copy(1, message_for(hop_handler, 20'000 - 1));
        wait(here);
        return 0;
      },
      count);
  EXPECT_EQ(status, 0);
  EXPECT_GT(sleeps.exchange(0), 0U);
}

// ---- placement and content (M07, M08, M23)

void note_place(pe& here, envelope& message) {
  misplaced += message.element != static_cast<std::uint64_t>(here.number()) || &here != &this_pe() ? 1 : 0;
  const config::placement& places = here.job().placement();
  if (places.pinned && sched_getcpu() != places.cpus[static_cast<std::size_t>(here.local_number())]) ++misplaced;
  ++done;
}
const std::uint32_t place_handler = register_handler(&note_place, "test.place");

TEST(pe, runs_every_message_where_it_was_sent_m07_m23) {
  for (const int pes : {1, 2, 5}) {
    run(values_for(pes), [](pe& here) {
      std::mt19937 random(1);
      for (int i = 0; i < 10'000; ++i) {
        const auto to = static_cast<int>(random() % static_cast<unsigned>(here.job().pes()));
        here.send_copy(to, message_for(place_handler, static_cast<std::uint64_t>(to)));
      }
      wait_until_quiet(here);
      return 0;
    });
    EXPECT_EQ(done, 10'000U);
    EXPECT_EQ(misplaced, 0U);
  }
}

void take_block(pe& here, envelope& message) {
  payload_seen = message.block().block;
  arena::release(message.block().block);
  here.send_copy(0, message_for(finish_handler));
}
const std::uint32_t block_handler = register_handler(&take_block, "test.block");

TEST(pe, passes_blocks_by_pointer_m08) {
  void* sent = nullptr;
  std::uint64_t copied = 1;
  run(values_for(2), [&](pe& here) {
    envelope message = message_for(block_handler);
    message.kind = payload_kind::block;
    sent = message.block().block = arena::allocate(100'000);
    message.block().bytes = 100'000;
    here.send_copy(1, message);
    wait(here);
    copied = here.counters().bytes_copied.read() + here.job().record_of(1)->counters.bytes_copied.read();
    return 0;
  });
  EXPECT_EQ(payload_seen, sent);
  EXPECT_EQ(copied, 0U);
}

// ---- order of work in a PE

void note_order(pe&, envelope& message) { order.emplace_back(1, static_cast<char>(message.element)); }
const std::uint32_t order_handler = register_handler(&note_order, "test.order");

TEST(pe, runs_immediate_then_urgent_then_normal_then_late) {
  run(values_for(1), [](pe& here) {
    const auto send = [&](char name, std::uint8_t flags, priority urgency = 0) {
      envelope message = message_for(order_handler, static_cast<std::uint64_t>(name));
      message.flags = flags;
      message.block().urgency = urgency;
      here.send_copy(0, message);
    };
    send('n', 0);
    send('l', envelope::has_priority, 5);
    send('k', envelope::has_priority, 4);
    send('u', envelope::has_priority, -5);
    send('v', envelope::has_priority, -5);
    send('b', envelope::has_priority, priority::bits({false}));
    send('m', 0);
    send('i', envelope::is_immediate);
    send('j', envelope::is_immediate);
    wait_until_quiet(here);
    return 0;
  });
  EXPECT_EQ(order, (std::vector<std::string>{"i", "j", "b", "u", "v", "n", "m", "k", "l"}));
}

// A handler that came from the own queue asks for its element's waiting messages: it gets those, not itself.
void extract(pe& here, envelope& message) {
  order.emplace_back(1, static_cast<char>(message.element));
  if (message.element != 'a') return;
  std::vector<envelope> taken;
  here.extract_own([&](const envelope& waiting) { return waiting.handler == message.handler; },
                   [&](envelope& waiting) { taken.push_back(waiting); });
  for (envelope& each : taken) {
    each.element = each.element - 'a' + 'A';
    here.send_copy(here.number(), each);
  }
}
const std::uint32_t extract_handler = register_handler(&extract, "test.extract");

TEST(pe, extracts_waiting_messages_but_not_the_running_one) {
  run(values_for(1), [](pe& here) {
    for (const char name : {'a', 'b', 'c'})
      here.send_copy(0, message_for(extract_handler, static_cast<std::uint64_t>(name)));
    wait_until_quiet(here);
    return 0;
  });
  EXPECT_EQ(order, (std::vector<std::string>{"a", "B", "C"}));
}

// ---- counting

// A random tree: every node sends up to three more in a random way, and is counted as done after its sends.
void grow(pe& here, envelope& message) {
  std::mt19937_64 random(message.element);
  const auto depth = message.collection;
  const auto branches = depth == 0 ? 0 : random() % 4;
  for (std::uint64_t i = 0; i < branches; ++i) {
    ++created;
    envelope child = message_for(message.handler, random(), depth - 1);
    const auto to = static_cast<int>(random() % static_cast<unsigned>(here.job().pes()));
    switch (random() % 6) {
      case 0:
        child.flags = envelope::is_immediate;
        here.send_copy(to, child);
        break;
      case 1:
        child.flags = envelope::has_priority;
        here.send_copy(to, child);
        break;
      case 2:
        here.send_to_node(here.job().process(), child);
        break;
      case 3:
        here.send_later(static_cast<std::int64_t>(random() % 50'000), child);
        break;
      default:
        here.send_copy(to, child);
        break;
    }
  }
  ++done;
}
const std::uint32_t grow_handler = register_handler(&grow, "test.grow");

TEST(counting, says_quiet_only_when_every_message_of_a_random_tree_has_ended) {
  for (int pes = 1; pes <= 4; ++pes) {
    std::uint64_t early = 0, total = 0;
    run(values_for(pes, {{"inbox_cells", "16"}, {"node_queue_cells", "16"}}), [&](pe& here) {
      for (std::uint64_t tree = 0; tree < scaled(300); ++tree) {
        ++created;
        here.send_copy(static_cast<int>(tree % static_cast<unsigned>(pes)),
                       message_for(grow_handler, tree * 77 + 1, 8));
        wait_until_quiet(here, [&] { early += created.load() != done.load() ? 1 : 0; });
      }
      total = done;
      return 0;
    });
    EXPECT_EQ(early, 0U) << pes << " PEs";
    EXPECT_GT(total, scaled(300) * 3);
  }
}

void nothing(pe&, envelope&) { ++done; }
const std::uint32_t nothing_handler = register_handler(&nothing, "test.nothing");

TEST(counting, a_message_that_could_not_be_sent_does_not_count) {
  std::uint64_t refused = 0, sent = 0;
  run(values_for(1, {{"node_queue_cells", "16"}, {"arena_limit_bytes", "8388608"}}), [&](pe& here) {
    std::vector<void*> filler;
    try {
      for (;;) filler.push_back(arena::allocate(60'000));
    } catch (const arena::arena_exhausted&) {
    }
    for (int i = 0; i < 3000; ++i) {
      try {
        here.send_to_node(0, message_for(nothing_handler));
        ++sent;
      } catch (const arena::arena_exhausted&) {
        ++refused;
      }
    }
    wait_until_quiet(here);  // would never end if one too many were counted
    return 0;
  });
  EXPECT_GT(refused, 0U);
  EXPECT_EQ(done, sent);
}

// ---- timers

std::vector<std::pair<std::uint64_t, std::uint64_t>> timed;  // deadline asked for, time it ran
void note_time(pe&, envelope& message) { timed.emplace_back(message.element, os::ticks()); }
const std::uint32_t time_handler = register_handler(&note_time, "test.time");

TEST(timers, run_in_order_and_never_early_also_out_of_sleep) {
  for (const char* idle : {"sleep", "auto", "spin"}) {
    timed.clear();
    run(values_for(1, {{"idle", idle}}), [](pe& here) {
      for (const std::int64_t delay_us : {3000, 0, 500, 10'000, 500, -7}) {
        const auto ticks = delay_us > 0 ? os::ns_to_ticks(static_cast<double>(delay_us) * 1000) : 0;
        here.send_later(delay_us * 1000, message_for(time_handler, os::ticks() + ticks));
      }
      wait_until_quiet(here);
      return 0;
    });
    ASSERT_EQ(timed.size(), 6U);
    for (std::size_t i = 0; i < timed.size(); ++i) {
      EXPECT_GE(timed[i].second, timed[i].first) << idle;
      if (i > 0) {
        EXPECT_GE(timed[i].first, timed[i - 1].first) << idle;
      }
    }
  }
}

// ---- stopping

void flood(pe& here, envelope& message) {
  if (here.job().stopping()) return;
  here.send_copy(static_cast<int>(++message.element % static_cast<unsigned>(here.job().pes())), message);
  if (message.element % scaled(50'000) == 0) here.job().request_stop(static_cast<int>(7 + message.collection));
}
const std::uint32_t flood_handler = register_handler(&flood, "test.flood");

TEST(stopping, works_while_messages_are_under_way_and_the_program_waits) {
  for (const int pes : {1, 2, 4}) {
    const int status = run(values_for(pes, {{"inbox_cells", "16"}}), [&](pe& here) {
      for (int i = 0; i < 50; ++i) here.send_copy(i % pes, message_for(flood_handler, static_cast<std::uint64_t>(i)));
      wait(here);  // for something that never comes
      ADD_FAILURE() << "must be unwound";
      return 0;
    });
    EXPECT_EQ(status, 7);
  }
}

TEST(stopping, the_first_request_counts) {
  const int status = run(values_for(2), [](pe& here) {
    here.job().request_stop(3);
    here.job().request_stop(4);
    return 5;  // asks as well
  });
  EXPECT_EQ(status, 3);
}

TEST(stopping, wakes_pes_that_sleep) {
  const int status = run(values_for(3, {{"idle", "sleep"}}), [](pe& here) {
    for (const int other : {1, 2})
      wait_until(here, [&] { return here.job().record_of(other)->counters.sleeps.read() > 0; });
    return 9;
  });
  EXPECT_EQ(status, 9);
}

// Messages that go on for ever, in every queue there is. Each carries a block; none may be lost when the job stops.
std::atomic<std::uint64_t> dropped{0}, hops{0};

enum wandering_kind : std::uint32_t { usual, urgent, later, for_node, kinds };

void wander(pe& here, envelope& message) {
  if (++hops == scaled(20'000)) here.job().request_stop(0);
  if (message.collection == for_node) {
    here.send_to_node(0, message);
    return;
  }
  here.send_copy(static_cast<int>(++message.element % static_cast<unsigned>(here.job().pes())), message);
}
void drop_wanderer(pe&, envelope& message) {
  arena::release(message.block().block);
  ++dropped;
}
const std::uint32_t wander_handler = register_handler(&wander, "test.wander", nullptr, &drop_wanderer);

envelope wanderer(std::uint32_t kind) {
  envelope made = message_for(wander_handler, 0, kind);
  made.kind = payload_kind::block;
  made.block() = {.block = arena::allocate(200), .bytes = 200, .urgency = priority(5)};
  if (kind == later) made.flags = envelope::has_priority;
  if (kind == urgent) made.flags = envelope::is_immediate;
  return made;
}

TEST(stopping, drops_every_message_that_waits) {
  for (const int pes : {1, 2, 4}) {
    hops = dropped = 0;
    std::uint64_t sent = 0;
    run(values_for(pes, {{"inbox_cells", "16"}, {"node_queue_cells", "16"}}), [&](pe& here) {
      for (int i = 0; i < 50; ++i)  // more than the rings hold
        for (std::uint32_t kind = 0; kind < kinds; ++kind) {
          if (kind == urgent && pes == 1) continue;  // they would leave no turn to any other
          ++sent;
          if (kind == for_node)
            here.send_to_node(0, wanderer(kind));
          else
            here.send_copy(i % pes, wanderer(kind));
        }
      for (int i = 0; i < 10; ++i, ++sent) here.send_later(std::int64_t{1'000'000'000'000} + i, wanderer(usual));
      wait(here);
      return 0;
    });
    EXPECT_EQ(dropped, sent) << pes << " PEs";
  }
}

// A PE that sleeps is woken by a message for its node, and a busy one does not keep it (M58).
void hold(pe& here, envelope&) {
  while (children.load() == 0) sched_yield();  // ends only when the other PE has run the next message
  here.send_copy(0, message_for(finish_handler));
}
void release_other(pe&, envelope&) { ++children; }
// As above, but the main program does not take turns.
void hold_here(pe&, envelope&) {
  while (children.load() == 0) sched_yield();
  finished = true;
}
const std::uint32_t hold_here_handler = register_handler(&hold_here, "test.hold here");
const std::uint32_t hold_handler = register_handler(&hold, "test.hold");
const std::uint32_t release_handler = register_handler(&release_other, "test.release");

// Whether others see the PE as asleep, so that work for any PE would ring it.
bool marked_asleep(const pe_record& record) { return record.inbox->ring.seems_asleep(); }

// PE 1 is given a message for its node in its last step before it announces that it falls asleep: after its last look
// at the node queue, and too early for anybody to ring it.
TEST(node_messages, that_come_between_the_last_look_and_the_mark_are_found) {
  constexpr std::uint64_t rounds = 100;
  run(
      values_for(2, {{"idle", "sleep"}}),
      [](pe&) {
        while (done.load() < rounds) sched_yield();  // takes no turn, so no message for the node
        return 0;
      },
      [](pe&) {},
      [](pe& here) {
        if (here.number() != 1) return;
        here.add_idle_hook([&here, turns = 0, sent = std::uint64_t{0}]() mutable {
          if (marked_asleep(here.record()) || sent == rounds) return false;
          if (sent == done.load() && ++turns == 3) {  // idle=sleep spins in the first two
            turns = 0;
            ++sent;
            here.send_to_node(0, message_for(nothing_handler));
          }
          return false;
        });
      });
  EXPECT_EQ(done, rounds);
}

// PE 1 and PE 2 sleep. PE 1 is rung for the work that `make` makes, and before it gets up there is a message for itself
// that ends only when somebody else has done that work. Everything happens in a hook of PE 1 that runs while others see
// it as asleep, so each run is the same.
void ring_pe_1_and_keep_it(const std::function<void(pe&)>& make) {
  children = 0;
  std::atomic<bool> begin{false};
  run(
      values_for(3, {{"idle", "sleep"}}),
      [&](pe& here) {
        for (const int other : {1, 2}) {
          const pe_record& record = *here.job().record_of(other);
          while (record.counters.sleeps.read() == 0 || !marked_asleep(record)) sched_yield();
        }
        begin = true;
        here.job().record_of(1)->inbox->wake_if_asleep();
        while (!finished.load()) sched_yield();  // takes no turn: it does none of the work
        return 0;
      },
      [](pe&) {},
      [&](pe& here) {
        if (here.number() != 1) return;
        here.add_idle_hook([&] {
          pe& one = this_pe();
          if (!begin.load() || !marked_asleep(one.record())) return false;
          begin = false;
          make(one);
          EXPECT_FALSE(marked_asleep(one.record())) << "PE 1 was meant to be rung";
          one.send_copy(1, message_for(hold_here_handler));
          return true;
        });
      });
}

TEST(node_messages, a_ring_that_finds_a_busy_pe_goes_on_to_the_next) {
  for (int round = 0; round < 20; ++round)
    ring_pe_1_and_keep_it([](pe& here) { here.send_to_node(0, message_for(release_handler)); });
}

void release_chunk(const board::task_view&, std::uint64_t, std::uint64_t, int) noexcept { ++children; }
const auto release_operation = board::operation_table::of_process().chunks.add("test.release chunk", &release_chunk);

TEST(board_work, a_ring_that_finds_a_busy_pe_goes_on_to_the_next) {
  for (int round = 0; round < 20; ++round)
    ring_pe_1_and_keep_it([](pe& here) {
      board::task_spec spec;  // one chunk in the range of PE 0, which never comes
      spec.operation = release_operation;
      spec.total = 1;
      ASSERT_TRUE(here.board().post(spec).handle);
      here.job().wake_helpers(1, board::any_process);
    });
}

// PE 1 helps with a task of two chunks. During the first there arrives a long message for it, so it leaves the task; PE
// 2, which nobody rang, has to take its place.
std::atomic<bool> in_first_chunk{false}, long_message_sent{false};
void leave_after_first_chunk(const board::task_view&, std::uint64_t, std::uint64_t, int pe) noexcept {
  if (pe != 1 || in_first_chunk.exchange(true)) {
    ++children;
    return;
  }
  while (!long_message_sent.load()) sched_yield();
}
const auto leave_operation = board::operation_table::of_process().chunks.add("test.leave", &leave_after_first_chunk);

TEST(board_work, a_helper_that_leaves_for_a_message_wakes_another) {
  for (int round = 0; round < 20; ++round) {
    children = 0;
    in_first_chunk = long_message_sent = false;
    run(values_for(3, {{"idle", "sleep"}}), [](pe& here) {
      for (const int other : {1, 2}) {
        const pe_record& record = *here.job().record_of(other);
        while (record.counters.sleeps.read() == 0 || !marked_asleep(record)) sched_yield();
      }
      board::task_spec spec;  // in the range of PE 0, which does not come
      spec.operation = leave_operation;
      spec.total = 2;
      const board::task_handle handle = here.board().post(spec).handle;
      here.job().wake_helpers(1, board::any_process);
      while (!in_first_chunk.load()) sched_yield();
      here.send_copy(1, message_for(hold_here_handler));
      long_message_sent = true;
      while (!finished.load()) sched_yield();
      here.board().finish(handle);
      return 0;
    });
    EXPECT_EQ(children, 1);
  }
}

// With this many PEs the board has a summary over its words, and for a moment work may be missing in it. PE 1 falls
// asleep in such a moment, all others sleep already; nobody will ring it.
TEST(board_work, that_the_summary_does_not_show_keeps_a_pe_awake) {
  constexpr int pes = 20;
  children = 0;
  std::atomic<bool> begin{false};
  std::uint64_t mark = 0;
  run(
      values_for(pes, {{"idle", "sleep"}}),
      [&](pe& here) {
        for (int other = 1; other < pes; ++other) {
          const pe_record& record = *here.job().record_of(other);
          while (record.counters.sleeps.read() == 0 || !marked_asleep(record)) sched_yield();
        }
        begin = true;
        here.job().record_of(1)->inbox->wake_if_asleep();
        while (children.load() == 0) sched_yield();
        return 0;
      },
      [](pe&) {},
      [&](pe& here) {
        if (here.number() != 1) return;
        here.add_idle_hook([&] {
          pe& one = this_pe();
          if (!begin.load() || marked_asleep(one.record())) return false;
          auto& summary =
              *board::board_view::over(one.job().own_host().board_memory, pes, 1, board::operation_table::of_process())
                   .tasks_open_to(board::any_process)
                   .hint();
          if (mark != 0) {
            const_cast<board::host_word&>(summary) = mark;  // what the PE in the middle of clear() does next
            begin = false;
            return false;
          }
          board::task_spec spec;
          spec.operation = release_operation;
          spec.total = 1;
          EXPECT_TRUE(one.board().post(spec).handle);
          mark = summary.load();
          const_cast<board::host_word&>(summary) = 0;
          return false;
        });
      });
  EXPECT_EQ(children, 1);
  EXPECT_NE(mark, 0U);
}

TEST(node_messages, run_on_whichever_pe_is_free) {
  for (int round = 0; round < 50; ++round) {
    children = 0;
    run(values_for(3, {{"idle", "sleep"}}), [](pe& here) {
      for (const int other : {1, 2})
        wait_until(here, [&] { return here.job().record_of(other)->counters.sleeps.read() > 0; });
      here.send_to_node(0, message_for(hold_handler));
      here.send_to_node(0, message_for(release_handler));
      here.run_until([] { return finished.load(); });
      return 0;
    });
    EXPECT_EQ(children, 1);
  }
}

}  // namespace
}  // namespace tri::sched
