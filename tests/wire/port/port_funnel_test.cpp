// Ports whose transport belongs to one thread (port_options::funnelled): all others leave their sends to it, its effort
// is restrained, and it sleeps and is woken.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "wire/conduit_port.hpp"
#include "wire/loop/loop_conduit.hpp"

namespace tri::wire::test {
namespace {

/// What was called, and by whom.
struct call_log {
  std::thread::id thread = {};  // the first caller's
  std::uint64_t of_others = 0;
  std::uint64_t since_look = 0, most_between_looks = 0;
  std::uint64_t unfinished = 0, most_unfinished = 0;
  std::function<void()> before_sleep = {};

  void note() {
    if (thread == std::thread::id()) thread = std::this_thread::get_id();
    if (thread != std::this_thread::get_id()) ++of_others;
  }
};

/// The conduit over the loop network, watched.
class watched_conduit {
 public:
  watched_conduit(loop_network& network, peer_number self, call_log& log) : inner_(network, self), log_(log) {}

  std::span<const std::byte> address() const { return inner_.address(); }
  void connect(peer_number peer, std::span<const std::byte> address) {
    log_.note();
    inner_.connect(peer, address);
  }
  peer_state state(peer_number peer) const { return inner_.state(peer); }
  send_result send(peer_number to, sending how, std::span<const std::byte> header, std::span<const std::byte> body,
                   packet_token token) {
    log_.note();
    log_.most_between_looks = std::max(log_.most_between_looks, ++log_.since_look);
    const send_result result = inner_.send(to, how, header, body, token);
    if (result == send_result::under_way) log_.most_unfinished = std::max(log_.most_unfinished, ++log_.unfinished);
    return result;
  }
  void accept(announcement body, void* place, std::size_t bytes, packet_token token) {
    log_.note();
    inner_.accept(body, place, bytes, token);
  }
  void refuse(announcement body) { inner_.refuse(body); }
  bool progress(conduit_events& events) {
    log_.note();
    log_.since_look = 0;
    counted passed(events, log_);
    return inner_.progress(passed);
  }
  int wake_descriptor() const { return inner_.wake_descriptor(); }
  static constexpr bool reports_sends = false;
  bool prepare_sleep() {
    log_.note();
    if (log_.before_sleep) log_.before_sleep();
    return inner_.prepare_sleep();
  }
  std::int64_t longest_sleep_ns() const { return -1; }
  void wake() { inner_.wake(); }
  bool close(conduit_events& events, bool at_once) { return inner_.close(events, at_once); }

 private:
  class counted final : public conduit_events {
   public:
    counted(conduit_events& to, call_log& log) : to_(to), log_(log) {}
    void packet(std::span<const std::byte> header, std::span<const std::byte> body) override {
      to_.packet(header, body);
    }
    void announced(std::span<const std::byte> header, std::size_t bytes, announcement body) override {
      to_.announced(header, bytes, body);
    }
    void filled(packet_token token, bool whole) override { to_.filled(token, whole); }
    void sent(packet_token token) override {
      --log_.unfinished;
      to_.sent(token);
    }
    void peer_failed(peer_number peer, const std::string& why) override { to_.peer_failed(peer, why); }

   private:
    conduit_events& to_;
    call_log& log_;
  };

  loop_conduit inner_;
  call_log& log_;
};
static_assert(conduit<watched_conduit>);

using watched_port = conduit_port<watched_conduit>;

std::vector<std::byte> address_of(peer_number peer) {
  return encode_address({}, false, std::as_bytes(std::span(&peer, 1)));
}

struct heading {
  std::uint64_t thread;
  std::uint64_t number;
};

struct counting_user final : port_user {
  void* memory_for(peer_number, std::span<const std::byte>, std::size_t) override { return place.data(); }
  void arrived(peer_number, std::span<const std::byte> header, void*, std::size_t) override {
    heading of = {};
    std::memcpy(&of, header.data(), sizeof of);
    if (of.number != next[of.thread]++) wrong = true;
    if (count_of_other != nullptr) seen_at.push_back(*count_of_other);
    // By one thread at a time; for those who wait. pairs: user.count
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void abandoned(void*) override { wrong = true; }
  void peer_failed(peer_number, const std::string&) override { wrong = true; }

  std::array<std::byte, 4096> place = {};
  std::array<std::uint64_t, 8> next = {};
  std::atomic<std::uint64_t> count{0};
  const std::atomic<std::uint64_t>* count_of_other = nullptr;
  std::vector<std::uint64_t> seen_at;  // what the other one had got when a message came here
  bool wrong = false;
};

void send(port& from, peer_number to, std::uint64_t thread, std::uint64_t number, std::size_t bytes) {
  static std::array<std::byte, 4096> block = {};
  const heading header = {.thread = thread, .number = number};
  from.send(to, std::as_bytes(std::span(&header, 1)), {.block = block.data(), .bytes = bytes, .release = [](void*) {}});
}

port_options funnelled(std::uint32_t sends_per_poll, std::uint32_t most_unfinished) {
  port_options options;
  options.short_limit = 200;
  options.eager_limit = 500;
  options.funnelled = true;
  options.sends_per_poll = sends_per_poll;
  options.most_unfinished = most_unfinished;
  return options;
}

// Of a thousand sends that wait, four go out between two polls for arrivals (Mei 2012, M53): what the other side sends
// meanwhile is taken while nearly all of them still wait. Without a cap they all go out first.
TEST(port_funnel, receives_among_a_thousand_sends) {
  for (const std::uint32_t sends_per_poll : {4U, 0U}) {
    loop_network network(2, {.seed = 3, .longest_delay = 2, .late_percent = 0});
    std::array<counting_user, 2> users;
    std::array<call_log, 2> logs;
    watched_port first(0, 2, users[0], address_of, funnelled(sends_per_poll, 0), network, 0U, logs[0]);
    watched_port second(1, 2, users[1], address_of, {}, network, 1U, logs[1]);
    users[0].count_of_other = &users[1].count;
    for (std::uint64_t number = 0; number < 1000; ++number) send(first, 1, 0, number, 300);
    for (std::uint64_t number = 0; number < 10; ++number) send(second, 0, 0, number, 300);
    EXPECT_EQ(logs[0].most_between_looks, 0U) << "a send went to the transport by itself";
    for (int step = 0; step < 100'000 && !(first.is_idle() && second.is_idle() && users[1].count == 1000); ++step) {
      first.progress();
      second.progress();
    }
    ASSERT_EQ(users[1].count, 1000U);
    ASSERT_EQ(users[0].count, 10U);
    EXPECT_FALSE(users[0].wrong || users[1].wrong);
    if (sends_per_poll == 4) {
      EXPECT_EQ(logs[0].most_between_looks, 4U);
      EXPECT_LT(users[0].seen_at.back(), 200U);
    } else {
      EXPECT_EQ(logs[0].most_between_looks, 1000U);
    }
  }
}

TEST(port_funnel, sends_no_more_while_too_much_is_not_out) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    loop_network network(2, {.seed = seed, .longest_delay = 30, .late_percent = 90});
    std::array<counting_user, 2> users;
    std::array<call_log, 2> logs;
    watched_port first(0, 2, users[0], address_of, funnelled(0, 3), network, 0U, logs[0]);
    watched_port second(1, 2, users[1], address_of, {}, network, 1U, logs[1]);
    for (std::uint64_t number = 0; number < 300; ++number) send(first, 1, 0, number, number % 3 == 0 ? 2000 : 300);
    for (int step = 0; step < 1'000'000 && !(first.is_idle() && second.is_idle() && users[1].count == 300); ++step) {
      first.progress();
      second.progress();
    }
    ASSERT_EQ(users[1].count, 300U);
    EXPECT_FALSE(users[1].wrong);
    EXPECT_EQ(logs[0].most_unfinished, 3U);
  }
}

// A send that comes while the thread is about to sleep is not forgotten, although arming the descriptor takes earlier
// wake-ups away.
TEST(port_funnel, a_send_before_arming_is_seen) {
  loop_network network(2, {.seed = 5, .longest_delay = 1, .late_percent = 0});
  std::array<counting_user, 2> users;
  std::array<call_log, 2> logs;
  watched_port first(0, 2, users[0], address_of, funnelled(0, 0), network, 0U, logs[0]);
  watched_port second(1, 2, users[1], address_of, {}, network, 1U, logs[1]);
  int slept = 0;
  for (std::uint64_t number = 0; number < 20; ++number) {
    bool sent = false;
    logs[0].before_sleep = [&] {
      if (std::exchange(sent, true)) return;
      std::thread([&] { send(first, 1, 0, number, 8); }).join();
    };
    while (first.progress() || second.progress()) {
    }
    const bool sleeps = first.prepare_sleep();
    ASSERT_TRUE(sent);
    pollfd waiting = {.fd = first.wake_descriptor(), .events = POLLIN, .revents = 0};
    if (sleeps) {
      ++slept;
      ASSERT_EQ(poll(&waiting, 1, 0), 1) << "asleep, and nothing says that something was sent";
    }
    for (int step = 0; step < 1000 && users[1].count <= number; ++step) {
      first.progress();
      second.progress();
    }
    ASSERT_EQ(users[1].count, number + 1);
  }
  logs[0].before_sleep = {};
  EXPECT_EQ(slept, 0);
}

// Four threads send in pauses, one is at the transport and sleeps whenever it may. A wake that is lost hangs the test.
TEST(port_funnel, one_thread_is_at_the_transport) {
  constexpr std::uint64_t senders = 4, each = 500;
  loop_network network(2, {.seed = 9, .longest_delay = 3});
  std::array<counting_user, 2> users;
  std::array<call_log, 2> logs;
  watched_port first(0, 2, users[0], address_of, funnelled(16, 8), network, 0U, logs[0]);
  watched_port second(1, 2, users[1], address_of, funnelled(16, 8), network, 1U, logs[1]);
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> sleeps{0};
  std::atomic<int> ended{0};
  const auto serve = [&](port& wire) {
    while (!done.load()) {
      if (wire.progress()) continue;
      if (!wire.prepare_sleep()) {
        std::this_thread::yield();
        continue;
      }
      pollfd waiting = {.fd = wire.wake_descriptor(), .events = POLLIN, .revents = 0};
      ++sleeps;
      if (poll(&waiting, 1, -1) != 1) ADD_FAILURE() << "poll";
    }
    ++ended;
  };
  std::vector<std::thread> servers;
  for (port* const wire : {static_cast<port*>(&first), static_cast<port*>(&second)})
    servers.emplace_back([&serve, wire] { serve(*wire); });
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < senders; ++thread)
    threads.emplace_back([&, thread] {
      for (std::uint64_t number = 0; number < each; ++number) {
        send(first, 1, thread, number, std::array<std::size_t, 3>{8, 300, 2000}[number % 3]);
        // All that came so far is there: most rounds find both sides asleep.
        if (number % 10 == 0)
          while (users[1].count.load(std::memory_order_acquire) <= number)
            std::this_thread::yield();  // pairs: user.count
      }
    });
  for (std::thread& thread : threads) thread.join();
  while (users[1].count.load(std::memory_order_acquire) < senders * each)
    std::this_thread::yield();  // pairs: user.count
  while (!first.is_idle() || !second.is_idle()) std::this_thread::yield();
  done = true;
  while (ended.load() < 2) {  // whoever sleeps, now or from now on, has to look at `done`
    first.flush();
    second.flush();
    std::this_thread::yield();
  }
  for (std::thread& thread : servers) thread.join();
  EXPECT_FALSE(users[0].wrong || users[1].wrong);
  EXPECT_EQ(logs[0].of_others + logs[1].of_others, 0U);
  EXPECT_LE(logs[0].most_between_looks, 16U);
  EXPECT_GT(sleeps.load(), 0U);
}

}  // namespace
}  // namespace tri::wire::test
