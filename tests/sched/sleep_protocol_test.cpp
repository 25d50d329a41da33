// How a PE falls asleep and is woken, through all interleavings. Three protocols: the ticket word of the ring (ring
// messages and lists), the idle word of a process with its node queue, and the idle listener (quiescence). Each is also
// shown to fail when the step that it rests on is left out, so the exploration can see what it is looking for.
#include <gmock/gmock.h>

#include <array>

#include "explore/explorer.hpp"

namespace tri::sched {
namespace {

// The consumer must take `pushes` ring messages and `pushes` list messages. Agent 0: consumer, 1: pushes into the ring,
// 2: pushes onto the list (overflow or urgent), 3: another ring producer, 4: somebody who wakes for no reason.
struct ring_model {
  enum class consuming : std::uint8_t { listen, ring, list, mark, look_again, sleep, unmark, done };
  enum class pushing : std::uint8_t { start, publish, look, wake, ring, done };

  bool looks_at_list_after_mark = true;
  bool ring_push_sees_mark = true;
  std::uint8_t tickets = 0, mark = 0, bell = 0, list = 0, head = 0, taken_from_list = 0, heard = 0;
  std::array<std::uint8_t, 2> published{};
  consuming consumer = consuming::listen;
  std::array<pushing, 4> pusher{};
  std::array<std::uint8_t, 4> ticket{}, saw_mark{};
  std::uint8_t spurious_left = 2;

  int agents() const { return 5; }
  bool enabled(int agent) const {
    if (agent == 0) return consumer != consuming::done && (consumer != consuming::sleep || bell != heard);
    return pusher[static_cast<std::size_t>(agent - 1)] != pushing::done;
  }

  void step_consumer() {
    switch (consumer) {
      case consuming::listen:
        heard = bell, consumer = consuming::ring;
        break;
      case consuming::ring:
        if (head < 2 && published[head] != 0) {
          ++head;
        } else {
          consumer = consuming::list;
        }
        break;
      case consuming::list:
        taken_from_list = static_cast<std::uint8_t>(taken_from_list + list), list = 0;
        consumer = head == 2 && taken_from_list == 1 ? consuming::done : consuming::mark;
        break;
      case consuming::mark:  // one compare-and-exchange: only if every ticket is consumed
        if (tickets == head) {
          mark = 1, consumer = looks_at_list_after_mark ? consuming::look_again : consuming::sleep;
        } else {
          consumer = consuming::listen;
        }
        break;
      case consuming::look_again:
        consumer = list != 0 ? consuming::unmark : consuming::sleep;
        break;
      case consuming::sleep:
        consumer = consuming::unmark;
        break;
      case consuming::unmark:
        mark = 0, consumer = consuming::listen;
        break;
      case consuming::done:
        break;
    }
  }
  void step(int agent) {
    if (agent == 0) return step_consumer();
    const auto me = static_cast<std::size_t>(agent - 1);
    switch (pusher[me]) {
      case pushing::start:
        if (agent == 2) {
          ++list, pusher[me] = pushing::look;
        } else if (agent == 4) {
          pusher[me] = pushing::wake;
        } else {  // one fetch-and-add: the ticket and the mark
          ticket[me] = tickets++, saw_mark[me] = ring_push_sees_mark ? mark : 0, pusher[me] = pushing::publish;
        }
        break;
      case pushing::publish:
        published[ticket[me]] = 1, pusher[me] = saw_mark[me] != 0 ? pushing::wake : pushing::done;
        break;
      case pushing::look:  // fetch-and-add of 0
        pusher[me] = mark != 0 ? pushing::wake : pushing::done;
        break;
      case pushing::wake:  // fetch-and-and: whoever turns the mark off rings
        pusher[me] = std::exchange(mark, std::uint8_t{0}) != 0 ? pushing::ring : pushing::done;
        if (agent == 4 && pusher[me] == pushing::done && spurious_left-- > 0) pusher[me] = pushing::start;
        break;
      case pushing::ring:
        ++bell, pusher[me] = pushing::done;
        break;
      case pushing::done:
        break;
    }
  }
  std::string fault() const { return ""; }
  std::string fault_at_end() const { return consumer == consuming::done ? "" : "asleep beside messages"; }
  void append_key(std::string& key) const {
    for (const std::uint8_t value : {tickets, mark, bell, list, head, taken_from_list, heard, published[0],
                                     published[1], static_cast<std::uint8_t>(consumer), spurious_left})
      explore::append_value(key, value);
    for (std::size_t i = 0; i < 4; ++i)
      for (const std::uint8_t value : {static_cast<std::uint8_t>(pusher[i]), ticket[i], saw_mark[i]})
        explore::append_value(key, value);
  }
};

TEST(sleep_protocol, ring_and_list_never_leave_the_consumer_asleep) {
  const explore::model_outcome result = explore::explore_all(ring_model{});
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.states, 1000U);
}
TEST(sleep_protocol, without_the_look_after_the_mark_a_list_message_is_lost) {
  EXPECT_EQ(explore::explore_all(ring_model{.looks_at_list_after_mark = false}).fault, "asleep beside messages");
}
TEST(sleep_protocol, a_ticket_that_does_not_tell_of_the_mark_is_lost) {
  EXPECT_EQ(explore::explore_all(ring_model{.ring_push_sees_mark = false}).fault, "asleep beside messages");
}

// Agent 0 sleeps, agent 1 makes work outside of the inbox visible (node queue, board, stop) and wakes whom the idle
// word names.
struct idle_word_model {
  enum class sleeping : std::uint8_t { look, listen, announce, mark, look_again, sleep, clear, done };
  enum class working : std::uint8_t { push, read_idle, wake, ring, done };

  bool announces_first = true;
  std::uint8_t work = 0, idle = 0, mark = 0, bell = 0, heard = 0, taken = 0;
  sleeping sleeper = sleeping::look;
  working worker = working::push;
  std::uint8_t left = 2;

  int agents() const { return 2; }
  bool enabled(int agent) const {
    return agent == 0 ? sleeper != sleeping::done && (sleeper != sleeping::sleep || bell != heard)
                      : worker != working::done;
  }
  void step(int agent) {
    if (agent == 1) {
      switch (worker) {
        case working::push:
          ++work, worker = working::read_idle;
          break;
        case working::read_idle:
          worker = idle != 0 ? working::wake : --left == 0 ? working::done : working::push;
          break;
        case working::wake:
          worker = std::exchange(mark, std::uint8_t{0}) != 0 ? working::ring
                   : --left == 0                             ? working::done
                                                             : working::push;
          break;
        case working::ring:
          ++bell, worker = --left == 0 ? working::done : working::push;
          break;
        case working::done:
          break;
      }
      return;
    }
    switch (sleeper) {
      case sleeping::look:
        taken = static_cast<std::uint8_t>(taken + work), work = 0;
        sleeper = taken == 2 ? sleeping::done : sleeping::listen;
        break;
      case sleeping::listen:
        heard = bell, sleeper = announces_first ? sleeping::announce : sleeping::mark;
        break;
      case sleeping::announce:
        idle = 1, sleeper = announces_first ? sleeping::mark : sleeping::sleep;
        break;
      case sleeping::mark:
        mark = 1, sleeper = sleeping::look_again;
        break;
      case sleeping::look_again:
        sleeper = work != 0 ? sleeping::clear : announces_first ? sleeping::sleep : sleeping::announce;
        break;
      case sleeping::sleep:
        sleeper = sleeping::clear;
        break;
      case sleeping::clear:
        mark = 0, idle = 0, sleeper = sleeping::look;
        break;
      case sleeping::done:
        break;
    }
  }
  std::string fault() const { return ""; }
  std::string fault_at_end() const { return sleeper == sleeping::done ? "" : "asleep beside work"; }
  void append_key(std::string& key) const {
    for (const std::uint8_t value : {work, idle, mark, bell, heard, taken, static_cast<std::uint8_t>(sleeper),
                                     static_cast<std::uint8_t>(worker), left})
      explore::append_value(key, value);
  }
};

TEST(sleep_protocol, idle_word_never_leaves_a_pe_asleep_beside_work) {
  const explore::model_outcome result = explore::explore_all(idle_word_model{});
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
}
TEST(sleep_protocol, an_idle_word_set_after_the_last_look_loses_work) {
  EXPECT_EQ(explore::explore_all(idle_word_model{.announces_first = false}).fault, "asleep beside work");
}

// Agent 0 wants to hear when the other PE is done (quiescence) and sleeps; agent 1 finishes its last message and falls
// asleep, ringing whoever listens. The listener is told early; what matters is when it looks.
struct listener_model {
  enum class listening : std::uint8_t { register_, hook, listen, mark, hook_again, sleep, unmark, done };
  enum class finishing : std::uint8_t { process, read_listener, wake, ring, done };

  bool looks_after_mark = true;
  std::uint8_t processed = 0, registered = 0, mark = 0, bell = 0, heard = 0;
  listening listener = listening::register_;
  finishing other = finishing::process;

  int agents() const { return 2; }
  bool enabled(int agent) const {
    return agent == 0 ? listener != listening::done && (listener != listening::sleep || bell != heard)
                      : other != finishing::done;
  }
  void step(int agent) {
    if (agent == 1) {
      switch (other) {
        case finishing::process:
          processed = 1, other = finishing::read_listener;
          break;
        case finishing::read_listener:
          other = registered != 0 ? finishing::wake : finishing::done;
          break;
        case finishing::wake:
          other = std::exchange(mark, std::uint8_t{0}) != 0 ? finishing::ring : finishing::done;
          break;
        case finishing::ring:
          ++bell, other = finishing::done;
          break;
        case finishing::done:
          break;
      }
      return;
    }
    switch (listener) {
      case listening::register_:
        registered = 1, listener = listening::hook;
        break;
      case listening::hook:
        listener = processed != 0 ? listening::done : listening::listen;
        break;
      case listening::listen:
        heard = bell, listener = listening::mark;
        break;
      case listening::mark:
        mark = 1, listener = looks_after_mark ? listening::hook_again : listening::sleep;
        break;
      case listening::hook_again:
        listener = processed != 0 ? listening::done : listening::sleep;
        break;
      case listening::sleep:
        listener = listening::unmark;
        break;
      case listening::unmark:
        mark = 0, listener = listening::hook;
        break;
      case listening::done:
        break;
    }
  }
  std::string fault() const { return ""; }
  std::string fault_at_end() const { return listener == listening::done ? "" : "nobody told the listener"; }
  void append_key(std::string& key) const {
    for (const std::uint8_t value : {processed, registered, mark, bell, heard, static_cast<std::uint8_t>(listener),
                                     static_cast<std::uint8_t>(other)})
      explore::append_value(key, value);
  }
};

TEST(sleep_protocol, a_listener_hears_that_the_others_are_done) {
  const explore::model_outcome result = explore::explore_all(listener_model{});
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
}
TEST(sleep_protocol, a_listener_that_looks_only_before_its_mark_may_sleep_on) {
  EXPECT_EQ(explore::explore_all(listener_model{.looks_after_mark = false}).fault, "nobody told the listener");
}

}  // namespace
}  // namespace tri::sched
