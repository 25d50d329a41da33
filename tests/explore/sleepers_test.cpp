// The real code with which somebody goes to sleep beside what others do at that moment, with old values
// (interleavings.hpp): whoever sleeps has seen what was done, or is rung. The models of these protocols
// (sched/sleep_protocol_test.cpp, work_words_protocol_test.cpp) have the steps in one order; here the memory orders
// have to give it.
#include <gmock/gmock.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "arena/doorbell.hpp"
#include "arena/sleeper.hpp"
#include "board/work_words.hpp"
#include "explore/of_functions.hpp"
#include "sched/idle_listener.hpp"
#include "sched/inbox.hpp"
#include "sched/inbox_reader.hpp"
#include "sched/node_queue.hpp"
#include "trireme/detail/sched/counters.hpp"
#include "wire/progress_lock.hpp"

namespace tri {
namespace {

using explore::check;
using explore::of_functions;

constexpr explore::exploration with_old_values{.old_reads = 2};

template <class Shared>
void expect_sound(std::vector<typename of_functions<Shared>::body> bodies, std::uint64_t least_runs) {
  of_functions<Shared> all(std::move(bodies));
  const explore::interleavings result = explore::run_all(all, with_old_values);
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete) << result.text();
  EXPECT_GE(result.runs, least_runs) << result.text();
}

// An inbox in watched memory, and its reader, which is private to the consumer.
struct mail {
  static constexpr std::uint32_t producers = 2;
  static constexpr std::uint64_t cells = 4;
  sched::inbox_shared& inbox = *sched::inbox_shared::initialise(
      explore::watched_allocate(sched::inbox_shared::required_bytes(producers, cells)), producers, cells);
  sched::idle_listener listener;
  sched::counter processed;
  std::uint64_t work = 0;

  void push(std::uint64_t number) {
    const sched::inbox_slot slot = sched::claim(inbox);
    slot.message->element = number;
    sched::publish(inbox, slot);
  }
  void push_urgent(std::uint64_t number) {
    auto* const message = static_cast<sched::envelope*>(explore::watched_allocate(sizeof(sched::envelope)));
    message->element = number;
    sched::push_urgent(inbox, message);
  }
  /// Sleeps until `look` finds something.
  template <class Look>
  static void sleep_until(sched::inbox_reader& reader, Look&& look) {
    while (!look()) {
      const std::uint32_t heard = reader.bell().listen();
      if (reader.prepare_sleep()) {
        const bool found = look();
        if (!found) reader.bell().sleep(heard, -1);
        reader.wake_up();
        if (found) return;
      } else {
        sched_yield();  // something is on its way
      }
    }
  }
  std::uint64_t take(sched::inbox_reader& reader) {
    sched::envelope* found = nullptr;
    std::uint64_t number = 0;
    sleep_until(reader, [&] {
      if (reader.has_urgent()) {
        number = reader.take_urgent()->element;
        return true;
      }
      found = reader.front();
      return found != nullptr;
    });
    if (found == nullptr) return number;
    number = found->element;
    reader.pop();
    return number;
  }
};

TEST(sleepers, an_inbox) {
  const auto takes = [](int messages) {
    return [=](mail& all) {
      sched::inbox_reader reader(all.inbox);
      std::uint64_t sum = 0;
      for (int i = 0; i < messages; ++i) sum += all.take(reader);
      check(sum == (messages == 1 ? 1 : 3), "a message was lost, or came twice");
    };
  };
  expect_sound<mail>({takes(1), [](mail& all) { all.push(1); }}, 2);
  expect_sound<mail>({takes(1), [](mail& all) { all.push_urgent(1); }}, 2);
  expect_sound<mail>({takes(2),
                      [](mail& all) {
                        all.push(1);
                        all.push(2);
                      }},
                     10);
}

// Who waits until all is processed, and who counts and falls asleep.
TEST(sleepers, the_listener_hears_of_the_last_who_falls_asleep) {
  expect_sound<mail>({[](mail& all) {
                        sched::inbox_reader reader(all.inbox);
                        all.listener.listen(0);
                        mail::sleep_until(reader, [&] { return all.processed.read() == 1; });
                        all.listener.stop();
                      },
                      [](mail& all) {
                        all.processed.add();
                        if (all.listener.to_ring() != sched::idle_listener::nobody) all.inbox.wake_if_asleep();
                      }},
                     10);
}

// A thread with a mark and a doorbell, and two that make work for it.
struct thread_with_work {
  arena::sleeper sleep;
  std::atomic<std::uint32_t> work{0};
};
TEST(sleepers, a_thread_with_a_mark) {
  const auto makes = [](thread_with_work& all) {
    all.work.fetch_add(1, std::memory_order_seq_cst);
    all.sleep.wake();
  };
  const auto works = [](std::uint32_t amount) {
    return [=](thread_with_work& all) {
      for (std::uint32_t done = 0; done < amount;) {
        all.sleep.prepare_sleep();
        const std::uint32_t some = all.work.exchange(0, std::memory_order_seq_cst);
        if (some == 0) all.sleep.sleep();
        all.sleep.awake();
        done += some;
      }
    };
  };
  expect_sound<thread_with_work>({works(1), makes}, 4);
  expect_sound<thread_with_work>({works(2), makes, makes}, 50);
}

// Work on a board of more than one word, with a summary, beside one that sleeps when it finds none.
struct board_of_two_words {
  std::atomic<std::uint64_t> summary{0};
  std::atomic<std::uint64_t> words[2] = {};
  std::atomic<std::uint32_t> sleepers{0};
  arena::doorbell bell;
  board::work_words<std::atomic<std::uint64_t>> work() { return {&summary, words, 2}; }
};
TEST(sleepers, work_on_the_board_is_found) {
  const auto posts = [](std::uint32_t bit) {
    return [=](board_of_two_words& all) {
      all.work().set(bit);
      if (all.sleepers.load(std::memory_order_seq_cst) != 0) all.bell.ring();
    };
  };
  const auto works = [](board_of_two_words& all) {
    for (;;) {
      const std::uint32_t heard = all.bell.listen();
      all.sleepers.fetch_add(1, std::memory_order_seq_cst);
      const bool some = all.work().any_before_sleep();
      if (!some) all.bell.sleep(heard, -1);
      all.sleepers.fetch_sub(1, std::memory_order_relaxed);
      if (some) break;
    }
  };
  expect_sound<board_of_two_words>({works, posts(70)}, 5);
  expect_sound<board_of_two_words>({works, posts(70),
                                    [](board_of_two_words& all) {
                                      all.work().set(71);
                                      all.work().clear(71);
                                    }},
                                   50);
}

// Messages for whichever PE is idle: its mark, then its look; the message, then the look for marks.
struct node {
  sched::node_queue& queue =
      *sched::node_queue::initialise(explore::watched_allocate(sched::node_queue::required_bytes(2)), 2);
  std::atomic<std::uint64_t> idle{0};
  arena::doorbell bell;
};
TEST(sleepers, messages_for_a_node_are_found) {
  expect_sound<node>({[](node& all) {
                        for (;;) {
                          const std::uint32_t heard = all.bell.listen();
                          all.idle.fetch_or(1, std::memory_order_seq_cst);
                          const bool some = !all.queue.seems_empty();
                          if (!some) all.bell.sleep(heard, -1);
                          if (some) break;
                        }
                        sched::envelope message;
                        while (!all.queue.pop(message)) sched_yield();
                        check(message.element == 7, "another message");
                      },
                      [](node& all) {
                        sched::envelope message{};
                        message.kind = sched::payload_kind::direct;
                        message.element = 7;
                        all.queue.push(message);
                        if (all.idle.load(std::memory_order_seq_cst) != 0) all.bell.ring();
                      }},
                     5);
}

// A thread that does not get the lock leaves its work to its holder.
struct wire_with_lock {
  wire::progress_lock lock;
  std::atomic<std::uint32_t> left{0};  // as wire/outbox.hpp: pushed and looked at in the order of seq_cst
  std::uint32_t done = 0;
};
TEST(sleepers, work_left_to_the_holder_of_a_turn_is_done) {
  const auto leaves = [](wire_with_lock& all) {
    all.left.fetch_add(1, std::memory_order_seq_cst);
    while (all.left.load(std::memory_order_seq_cst) != 0 && all.lock.try_acquire()) {
      all.done += all.left.exchange(0, std::memory_order_acquire);
      all.lock.release();
    }
  };
  of_functions<wire_with_lock> all(
      {leaves, leaves}, [](wire_with_lock& at_end) { check(at_end.done == 2, "work was left that nobody does"); });
  const explore::interleavings result = explore::run_all(all, with_old_values);
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete) << result.text();
  EXPECT_GE(result.runs, 100U) << result.text();
}

}  // namespace
}  // namespace tri
