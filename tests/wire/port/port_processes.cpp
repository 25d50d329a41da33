// Ports between real processes, over the loopback device. Nothing here depends on time.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "wire/port.hpp"
#include "wire/port/port_processes.hpp"
#include "wire/support/checked_messages.hpp"
#include "wire/support/forked_processes.hpp"

namespace tri::wire::test {
namespace {

using testing::check;
using testing::check_equal;

std::unique_ptr<port> open(unsigned self, std::size_t peers, port_user& user, shared_by_processes& shared,
                           const port_options& options = over_loopback()) {
  auto wire = open_port(
      port_processes::conduit, self, peers, user, [&shared](peer_number peer) { return shared.address_of(peer); },
      options);
  shared.publish(self, wire->address());
  return wire;
}

// Nobody ends before all have what they were sent: a barrier, as the end of a job has one.
void await_others(port& wire, shared_by_processes& shared, std::size_t peers, std::size_t mark) {
  ++shared.marks[mark];
  while (shared.marks[mark] < peers) {
    wire.progress();
    usleep(100);
  }
}

void expect_clean(const ended_processes& ended) {
  EXPECT_EQ(ended.complaint, "");
  for (std::size_t i = 0; i < ended.ends.size(); ++i) EXPECT_TRUE(ended.ends[i].clean()) << "process " << i;
}

TEST_P(port_processes, all_to_all_in_order_at_all_sizes) {
  constexpr std::size_t peers = 3;
  constexpr std::uint64_t rounds = 40;
  expect_clean(run_processes(peers, [](unsigned self, shared_by_processes& shared) {
    checking_user user(self);
    body_store bodies;
    const port_options options = over_loopback();
    const auto wire = open(self, peers, user, shared);
    const std::vector<std::size_t> sizes = sizes_around(options);
    std::uint64_t expected = 0;
    for (std::uint64_t number = 0; number < rounds; ++number) {
      for (unsigned to = 0; to < peers; ++to) {
        if (to == self) continue;
        send_checked(*wire, bodies, self, to, number, sizes[(number * 5 + self + to) % sizes.size()]);
        ++expected;
      }
      wire->progress();
    }
    while (user.arrived() < expected || !wire->is_idle()) {
      wire->progress();
      user.verify();
    }
    await_others(*wire, shared, peers, 0);
    check_equal(body_store::released(), bodies.made());
    check_equal(user.places_in_use(), std::size_t{0});
    check(user.failures.empty(), "no peer failed");
    const port_counters counters = wire->counters();
    check_equal(counters.messages_arrived, expected);
    check_equal(counters.short_sent + counters.eager_sent + counters.rendezvous_sent, counters.messages_sent);
    check(counters.eager_sent > 0 && counters.rendezvous_sent > 0, "all protocols were used");
  }));
}

// Three protocols to a process that is killed: the loss is told once, all bodies come back, later sends are dropped.
TEST_P(port_processes, killed_peer_is_lost_once) {
  const ended_processes ended = run_processes(2, [](unsigned self, shared_by_processes& shared) {
    checking_user user(self);
    body_store bodies;
    const port_options options = over_loopback();
    const auto wire = open(self, 2, user, shared);
    if (self == 1) {
      user.refuse_above = options.eager_limit;  // so a rendezvous is under way when it ends
      while (user.arrived() < 2) wire->progress();
      ++shared.marks[0];
      raise(SIGKILL);
    }
    send_checked(*wire, bodies, 0, 1, 0, 8);
    send_checked(*wire, bodies, 0, 1, 1, options.short_limit * 2);
    send_checked(*wire, bodies, 0, 1, 2, options.eager_limit * 3);
    while (user.failures.empty()) wire->progress();
    check_equal(user.failures.front().first, peer_number{1});
    check(user.failures.front().second.find("its connection broke") == 0, user.failures.front().second);
    while (!wire->is_idle()) wire->progress();
    for (std::uint64_t number = 3; number < 10; ++number) send_checked(*wire, bodies, 0, 1, number, number * 20'000);
    check(wire->is_idle(), "nothing to a failed peer is under way");
    for (int turn = 0; turn < 1000; ++turn) wire->progress();
    check_equal(user.failures.size(), std::size_t{1});
    check_equal(body_store::released(), bodies.made());
    check_equal(wire->counters().dropped, std::uint64_t{7});
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean());
  EXPECT_TRUE(ended.ends[1].killed_by(SIGKILL));
}

// Who only receives hears of the death as well, and gives back the place of a body that will never be whole.
TEST_P(port_processes, receiver_hears_of_a_killed_sender) {
  const ended_processes ended = run_processes(2, [](unsigned self, shared_by_processes& shared) {
    checking_user user(self);
    body_store bodies;
    const port_options options = over_loopback();
    const auto wire = open(self, 2, user, shared);
    if (self == 1) {
      send_checked(*wire, bodies, 1, 0, 0, 8);
      send_checked(*wire, bodies, 1, 0, 1, 200 * options.eager_limit);
      while (shared.marks[0].load() == 0) wire->progress();
      ++shared.marks[1];
      shared.await_mark(2, 1);  // makes no progress, so the body stays here
      raise(SIGKILL);
    }
    user.refuse_above = options.eager_limit;
    while (wire->counters().memory_refused == 0) wire->progress();
    ++shared.marks[0];
    shared.await_mark(1, 1);
    user.refuse_above = SIZE_MAX;
    while (user.places_in_use() == 0) wire->progress();
    ++shared.marks[2];
    while (user.failures.empty() || !wire->is_idle()) wire->progress();
    user.verify();
    check_equal(user.failures.size(), std::size_t{1});
    check_equal(user.failures.front().first, peer_number{1});
    check_equal(user.abandoned_count, std::uint64_t{1});
    check_equal(user.places_in_use(), std::size_t{0});
    check_equal(user.arrived(), std::uint64_t{1});
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean());
}

// One process ends while the other goes on: no loss, unless something is sent to it after that.
TEST_P(port_processes, a_disconnect_is_not_a_failure) {
  expect_clean(run_processes(2, [=](unsigned self, shared_by_processes& shared) {
    checking_user user(self);
    body_store bodies;
    auto wire = open(self, 2, user, shared);
    send_checked(*wire, bodies, self, 1 - self, 0, 8);
    while (user.arrived() < 1) wire->progress();
    if (self == 1) {
      // With progress: what it has sent may still wait for its connection.
      while (shared.marks[0].load() == 0) wire->progress();
      wire.reset();
      ++shared.marks[1];
      return;
    }
    ++shared.marks[0];
    while (shared.marks[1].load() == 0) wire->progress();
    for (int turn = 0; turn < 2000; ++turn) wire->progress();
    check(user.failures.empty(), "an orderly disconnect is reported as a failure");
    send_checked(*wire, bodies, 0, 1, 1, 8);
    while (user.failures.empty()) wire->progress();
    check_equal(user.failures.front().second, std::string("it has ended, and a message was sent to it after that"));
    check_equal(wire->counters().dropped, std::uint64_t{1});
  }));
}

// Has one place, given to one body at a time, and none before `open`.
struct one_place_user final : port_user {
  explicit one_place_user(std::size_t bytes) : place(bytes) {}
  void* memory_for(peer_number, std::span<const std::byte>, std::size_t) override {
    if (!open || in_use) return nullptr;
    in_use = true;
    return place.data();
  }
  void arrived(peer_number, std::span<const std::byte> header, void*, std::size_t bytes) override {
    std::uint64_t number = 0;
    std::memcpy(&number, header.data(), sizeof number);
    if (number != count || bytes != place.size()) wrong = true;
    if (place.front() != std::byte{42} || place.back() != std::byte{42}) wrong = true;
    place.front() = place.back() = std::byte{0};
    in_use = false;
    ++count;
  }
  void abandoned(void*) override { wrong = true; }
  void peer_failed(peer_number, const std::string&) override { wrong = true; }

  std::vector<std::byte> place;
  bool open = false, in_use = false, wrong = false;
  std::uint64_t count = 0;
};

// A port can be closed although its peer does nothing any more, and gives back what it holds.
TEST_P(port_processes, ends_beside_a_silent_peer) {
  expect_clean(run_processes(2, [=](unsigned self, shared_by_processes& shared) {
    checking_user user(self);
    body_store bodies;
    port_options options = over_loopback();
    options.close_timeout_ms = 100;
    auto wire = open(self, 2, user, shared, options);
    if (self == 1) {
      user.refuse_above = options.eager_limit;
      while (wire->counters().memory_refused == 0) wire->progress();
      ++shared.marks[0];
      shared.await_mark(1, 1);
      return;
    }
    send_checked(*wire, bodies, 0, 1, 0, 8);
    send_checked(*wire, bodies, 0, 1, 1, 2 * options.eager_limit);
    while (shared.marks[0].load() == 0) wire->progress();
    wire.reset();
    check_equal(body_store::released(), bodies.made());
    ++shared.marks[1];
  }));
}

// Announced bodies of 1 MB without a place: the receiver stores none of them, and one place is enough for all (FA-13).
TEST_P(port_processes, rendezvous_without_a_place_stores_nothing) {
  constexpr std::uint64_t messages = 100;
  constexpr std::size_t bytes = 1'000'000;
  expect_clean(run_processes(2, [=](unsigned self, shared_by_processes& shared) {
    one_place_user user(bytes);
    const auto wire = open(self, 2, user, shared);
    if (self == 0) {
      static std::uint64_t released = 0;
      std::vector<std::byte> block(bytes, std::byte{42});
      for (std::uint64_t number = 0; number < messages; ++number) {
        wire->send(1, std::as_bytes(std::span(&number, 1)),
                   {.block = block.data(), .bytes = bytes, .release = [](void*) { ++released; }});
        wire->progress();
      }
      ++shared.marks[0];
      while (shared.marks[1].load() == 0) wire->progress();
      check_equal(released, std::uint64_t{0});
      ++shared.marks[2];
      while (!wire->is_idle()) wire->progress();
      check_equal(released, messages);
    } else {
      while (shared.marks[0].load() == 0 || wire->counters().memory_refused < 1000) wire->progress();
      check_equal(user.count, std::uint64_t{0});
      ++shared.marks[1];
      while (shared.marks[2].load() == 0) wire->progress();
      user.open = true;
      while (user.count < messages) wire->progress();
      check(!user.wrong, "a message is not what was sent");
    }
    await_others(*wire, shared, 2, 3);
  }));
}

// The sleeper is woken by a message, and by a send of another thread that needs progress to go on.
TEST_P(port_processes, sleepers_wake) {
  constexpr std::uint64_t rounds = 200;
  expect_clean(run_processes(2, [=](unsigned self, shared_by_processes& shared) {
    checking_user user(self);
    body_store bodies;
    const port_options options = over_loopback();
    const auto wire = open(self, 2, user, shared);
    std::uint64_t sleeps = 0;
    for (std::uint64_t number = 0; number < rounds; ++number) {
      const std::size_t bytes = number % 10 == 9 ? 2 * options.eager_limit : 8;
      if (self == 0) send_checked(*wire, bodies, 0, 1, number, bytes);
      while (user.arrived() <= number) {
        if (!wire->prepare_sleep()) {
          wire->progress();
          continue;
        }
        pollfd waiting = {.fd = wire->wake_descriptor(), .events = POLLIN, .revents = 0};
        // Without limit: a wake that is lost hangs the test.
        check_equal(poll(&waiting, 1, -1), 1);
        ++sleeps;
        wire->progress();
      }
      user.verify();
      if (self == 1) send_checked(*wire, bodies, 1, 0, number, bytes);
    }
    while (!wire->is_idle()) wire->progress();
    check(sleeps > 0, "nobody ever slept");
    await_others(*wire, shared, 2, 0);
  }));
}

// Senders beside a thread that makes progress: each sender's messages arrive in its order, none waits in the outbox.
TEST_P(port_processes, sends_from_many_threads) {
  constexpr std::uint64_t per_thread = 3000;
  constexpr unsigned senders = 3;
  expect_clean(run_processes(2, [=](unsigned self, shared_by_processes& shared) {
    struct ordered_user final : port_user {
      void* memory_for(peer_number, std::span<const std::byte>, std::size_t bytes) override {
        return std::malloc(bytes);
      }
      void arrived(peer_number, std::span<const std::byte> header, void* body, std::size_t) override {
        std::array<std::uint64_t, 2> of = {};
        std::memcpy(of.data(), header.data(), sizeof of);
        if (of[1] != next[of[0]]++) wrong = true;
        ++count;
        std::free(body);
      }
      void abandoned(void*) override { wrong = true; }
      void peer_failed(peer_number, const std::string&) override { wrong = true; }
      std::array<std::uint64_t, senders> next = {};
      std::uint64_t count = 0;
      bool wrong = false;
    } user;
    const auto wire = open(self, 2, user, shared);
    if (self == 0) {
      std::atomic<unsigned> running{senders};
      std::vector<std::thread> threads;
      for (unsigned thread = 0; thread < senders; ++thread) {
        threads.emplace_back([&, thread] {
          static std::array<std::byte, 200'000> block = {};
          for (std::uint64_t number = 0; number < per_thread; ++number) {
            const std::array<std::uint64_t, 2> header = {thread, number};
            const std::size_t bytes = number % 100 == 99 ? block.size() : number % 10 == 9 ? 2000 : 8;
            wire->send(1, std::as_bytes(std::span(header)), {.block = block.data(), .bytes = bytes});
          }
          wire->flush();
          --running;
        });
      }
      while (running.load() != 0 || !wire->is_idle()) wire->progress();
      for (std::thread& thread : threads) thread.join();
    } else {
      while (user.count < senders * per_thread) wire->progress();
      check(!user.wrong, "messages of a thread came in another order");
    }
    await_others(*wire, shared, 2, 0);
  }));
}

// What a peer of another build gives as its address.
TEST_P(port_processes, strange_address_is_a_loss) {
  expect_clean(run_processes(1, [](unsigned, shared_by_processes&) {
    checking_user user(0);
    body_store bodies;
    const auto wire = open_port(
        port_processes::conduit, 0, 2, user, [](peer_number) { return std::vector<std::byte>(80, std::byte{7}); },
        over_loopback());
    send_checked(*wire, bodies, 0, 1, 0, 100);
    while (user.failures.empty()) wire->progress();
    check(user.failures.front().second.find("all processes of a job must run the same build") != std::string::npos,
          user.failures.front().second);
    check_equal(body_store::released(), bodies.made());
    check(wire->is_idle(), "a message to nobody is under way");
  }));
}

}  // namespace
}  // namespace tri::wire::test
