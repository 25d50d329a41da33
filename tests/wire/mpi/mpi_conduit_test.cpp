// The conduit over MPI, with an MPI whose order and delays come from a seed: the promises of every conduit, what is
// posted ahead (M46, M47), that nothing large holds up what is small (M45), failures and ends.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "wire/conduit/conduit_rules.hpp"
#include "wire/mpi/fake_mpi.hpp"
#include "wire/mpi/mpi_conduit.hpp"
#include "wire/mpi/sized_receives.hpp"

namespace tri::wire::test {
namespace {

using testing::check_throws;

const std::vector<std::byte> body_header(20, std::byte{7});

std::vector<std::byte> bytes_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

struct nobody final : conduit_events {
  void packet(std::span<const std::byte>, std::span<const std::byte>) override {}
  void announced(std::span<const std::byte>, std::size_t, announcement) override {}
  void filled(packet_token, bool) override {}
  void sent(packet_token) override {}
  void peer_failed(peer_number, const std::string&) override {}
};

/// Else what is posted stays with the library, and its memory is given up for lost.
void end(mpi_conduit& conduit) {
  nobody events;
  for (int tries = 0; tries < 1000 && !conduit.close(events, true); ++tries) {
  }
}

/// Two conduits that know each other.
struct pair_of_conduits {
  pair_of_conduits(fake_network& network, const mpi_options& options)
      : first(network.rank(0), 2, options), second(network.rank(1), 2, options) {
    first.connect(1, second.address());
    second.connect(0, first.address());
  }
  ~pair_of_conduits() {
    end(first);
    end(second);
  }
  pair_of_conduits(const pair_of_conduits&) = delete;
  pair_of_conduits& operator=(const pair_of_conduits&) = delete;
  mpi_conduit first, second;
};

/// Keeps what comes; takes every offered body at once, later, or never.
struct keeper final : conduit_events {
  explicit keeper(mpi_conduit& its) : conduit(its) {}
  void packet(std::span<const std::byte>, std::span<const std::byte> body) override {
    sizes.push_back(body.size());
    last = bytes_of(body);
  }
  void announced(std::span<const std::byte>, std::size_t bytes, announcement body) override {
    offered.push_back({body, bytes});
  }
  void filled(packet_token, bool is_whole) override {
    (is_whole ? whole : broken)++;
    when_filled();
  }
  void sent(packet_token token) override { freed.push_back(token); }
  void peer_failed(peer_number peer, const std::string& why) override { failures.emplace_back(peer, why); }
  void accept(std::size_t which) {
    places.emplace_back(std::make_unique<place>());
    places.back()->bytes.resize(offered[which].bytes);
    conduit.accept(offered[which].body, places.back()->bytes.data(), offered[which].bytes, places.back().get());
  }

  struct offer {
    announcement body;
    std::size_t bytes;
  };
  struct place : packet_record {
    std::vector<std::byte> bytes;
  };
  mpi_conduit& conduit;
  std::vector<std::size_t> sizes;
  std::vector<std::byte> last;
  std::vector<offer> offered;
  std::vector<std::unique_ptr<place>> places;
  int whole = 0, broken = 0;
  std::function<void()> when_filled = [] {};
  std::vector<packet_token> freed;
  std::vector<std::pair<peer_number, std::string>> failures;
};

template <class Done>
void step_until(keeper& one, keeper& other, const Done& done) {
  for (int step = 0; step < 100'000; ++step) {
    one.conduit.progress(one);
    other.conduit.progress(other);
    if (done()) return;
  }
  FAIL() << "it did not happen in 100000 steps";
}

template <class Events, class OtherEvents>
void close_both(mpi_conduit& first, Events& at_first, mpi_conduit& second, OtherEvents& at_second) {
  bool first_closed = false, second_closed = false;
  for (int step = 0; step < 100'000 && !(first_closed && second_closed); ++step) {
    if (!first_closed) first_closed = first.close(at_first, false);
    if (!second_closed) second_closed = second.close(at_second, false);
  }
  EXPECT_TRUE(first_closed);
  EXPECT_TRUE(second_closed);
}

TEST(mpi_conduit, keeps_its_promises_for_every_seed) {
  mpi_conduit_counters all;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fake_network network(2, {.seed = seed,
                             .longest_delay = static_cast<unsigned>(seed % 7 * 10),
                             .eager_bytes = seed % 3 == 0   ? 0U
                                            : seed % 3 == 1 ? 4096U
                                                            : 1U << 20});
    const mpi_options options = {.small_bytes = seed % 2 == 0 ? 8192U : 256U,
                                 .small_receives = 1 + seed % 5,
                                 .posted = {.fixed = seed % 4 == 1 ? std::vector<posted_ahead>{{2, 9000}, {1, 40'000}}
                                                                   : std::vector<posted_ahead>{},
                                            .adaptive_classes = seed % 4 == 2 ? 3U : 0U,
                                            .interval = 5,
                                            .buffers = 6},
                                 .piece_bytes = seed % 5 == 0 ? 1000U : 1U << 30};
    pair_of_conduits two(network, options);
    conduit_player<mpi_conduit> at_first(two.first, 0), at_second(two.second, 1);
    at_first.send_all();
    at_second.send_all();
    for (int step = 0; step < 100'000 && !(at_first.finished() && at_second.finished()); ++step) {
      ASSERT_NO_THROW(at_first.step());
      ASSERT_NO_THROW(at_second.step());
    }
    ASSERT_TRUE(at_first.finished() && at_second.finished());
    EXPECT_GT(at_first.counts.refused, 0U);
    EXPECT_GT(at_first.counts.filled, 0U);
    EXPECT_TRUE(at_first.failures.empty());
    const mpi_conduit_counters here = two.first.counters();
    EXPECT_EQ(here.small_arrived + here.bodies_arrived, at_first.counts.packets);
    EXPECT_EQ(here.offered_arrived, at_first.counts.filled);
    all.bodies_posted_ahead += here.bodies_posted_ahead;
    all.receives_withdrawn += here.receives_withdrawn;
    close_both(two.first, at_first, two.second, at_second);
    EXPECT_EQ(network.posted(), 0U) << "something is the library's still";
    EXPECT_EQ(network.messages(), 0U) << "something was sent and never received";
  }
  EXPECT_GT(all.bodies_posted_ahead, 5U);
  EXPECT_GT(all.receives_withdrawn, 5U);
}

// M45. What is held back by the network holds back nothing else, whether it was asked for or comes by itself.
TEST(mpi_conduit, large_arrivals_hold_up_no_small_ones) {
  fake_network network(2, {});
  pair_of_conduits two(network, {});
  keeper at_first(two.first), at_second(two.second);
  const std::vector<std::byte> megabyte(1 << 20), medium(100'000), small(64);
  packet_record of_megabyte, of_medium, of_small;
  network.hold(mpi_channel::body, 10'000);
  static_cast<void>(two.first.send(1, sending::announced, small, megabyte, &of_megabyte));
  static_cast<void>(two.first.send(1, sending::copied, small, medium, &of_medium));
  step_until(at_first, at_second, [&] { return !at_second.offered.empty(); });
  at_second.accept(0);
  for (int i = 0; i < 200; ++i) {
    const std::size_t before = at_second.sizes.size();
    static_cast<void>(two.first.send(1, sending::copied, {}, small, &of_small));
    step_until(at_first, at_second, [&] { return at_second.sizes.size() > before; });
  }
  EXPECT_EQ(at_second.whole, 0);
  EXPECT_EQ(at_second.sizes, std::vector<std::size_t>(200, 64));
  network.let_go();
  step_until(at_first, at_second, [&] { return at_second.whole == 1 && at_second.sizes.size() == 201; });
}

// M46. As many as asked for, of the size asked for; each is posted again when a body has taken it, and what came is
// right.
TEST(mpi_conduit, fixed_receives_are_posted_again) {
  fake_network network(2, {});
  pair_of_conduits two(network, {.posted = {.fixed = read_posted_ahead("3x20000,1x65536")}});
  EXPECT_EQ(two.second.posted_ahead_for(20'000), 3U);
  EXPECT_EQ(two.second.posted_ahead_for(19'500), 3U);  // of the same KiB
  EXPECT_EQ(two.second.posted_ahead_for(65'536), 1U);
  EXPECT_EQ(two.second.posted_ahead_for(30'000), 0U);
  keeper at_first(two.first), at_second(two.second);
  for (unsigned i = 0; i < 50; ++i) {
    const std::vector<std::byte> body(i % 5 == 0 ? 65'536 : 20'000, static_cast<std::byte>(i));
    packet_record record;
    const auto result = two.first.send(1, sending::copied, body_header, body, &record);
    step_until(at_first, at_second, [&] {
      return at_second.sizes.size() == i + 1 && (result == send_result::done || !at_first.freed.empty());
    });
    at_first.freed.clear();
    ASSERT_EQ(at_second.last, body);
    ASSERT_EQ(two.second.posted_ahead_for(20'000), 3U);
    ASSERT_EQ(two.second.posted_ahead_for(65'536), 1U);
  }
  EXPECT_EQ(two.second.counters().bodies_arrived, 50U);
  EXPECT_EQ(two.second.counters().bodies_posted_ahead, 50U);
}

// M47. After the program has changed its sizes and an interval is over, the receives are of the new sizes.
TEST(mpi_conduit, posted_sizes_follow_the_sizes_seen) {
  fake_network network(2, {});
  pair_of_conduits two(network, {.posted = {.adaptive_classes = 2, .interval = 40, .buffers = 8}});
  keeper at_first(two.first), at_second(two.second);
  const auto send_some = [&](std::size_t count, std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<std::byte> body(bytes);
      packet_record record;
      const std::size_t before = at_second.sizes.size();
      static_cast<void>(two.first.send(1, sending::copied, body_header, body, &record));
      step_until(at_first, at_second, [&] { return at_second.sizes.size() > before && !at_first.freed.empty(); });
      at_first.freed.clear();
    }
  };
  EXPECT_EQ(two.second.posted_ahead_for(20'000), 0U);
  send_some(30, 20'000);
  send_some(10, 50'000);
  EXPECT_EQ(two.second.posted_ahead_for(20'000), 6U);  // three quarters of the buffers
  EXPECT_EQ(two.second.posted_ahead_for(50'000), 2U);
  const std::uint64_t before = two.second.counters().bodies_posted_ahead;
  send_some(39, 20'000);
  EXPECT_EQ(two.second.counters().bodies_posted_ahead, before + 39);
  send_some(1, 90'000);
  send_some(40, 90'000);
  EXPECT_EQ(two.second.posted_ahead_for(90'000), 8U);
  EXPECT_EQ(two.second.posted_ahead_for(20'000), 0U);
  EXPECT_EQ(two.second.posted_ahead_for(50'000), 0U);
  EXPECT_GT(two.second.counters().receives_withdrawn, 0U);
}

// No safe point while a body of the size is under way: its receive stays.
TEST(mpi_conduit, a_receive_that_is_needed_is_not_withdrawn) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    fake_network network(2, {.seed = seed});
    pair_of_conduits two(network, {.posted = {.adaptive_classes = 1, .interval = 10, .buffers = 4}});
    keeper at_first(two.first), at_second(two.second);
    const std::vector<std::byte> old_size(30'000, std::byte{1}), new_size(20'000, std::byte{2});
    std::vector<packet_record> records(40);
    for (unsigned i = 0; i < 10; ++i) static_cast<void>(two.first.send(1, sending::copied, {}, old_size, &records[i]));
    step_until(at_first, at_second, [&] { return at_second.sizes.size() == 10; });
    EXPECT_EQ(two.second.posted_ahead_for(30'000), 4U);
    network.hold(mpi_channel::body, 30'000);
    static_cast<void>(two.first.send(1, sending::copied, {}, old_size, &records[10]));
    for (unsigned i = 11; i < 40; ++i) static_cast<void>(two.first.send(1, sending::copied, {}, new_size, &records[i]));
    step_until(at_first, at_second, [&] { return at_second.sizes.size() == 39; });
    EXPECT_EQ(two.second.posted_ahead_for(20'000), 4U);
    EXPECT_EQ(two.second.posted_ahead_for(30'000), 4U);
    network.let_go();
    step_until(at_first, at_second, [&] { return at_second.sizes.size() == 40; });
    EXPECT_EQ(at_second.last, old_size);
  }
}

TEST(mpi_conduit, a_disconnect_frees_what_will_not_be_fetched) {
  fake_network network(2, {});
  pair_of_conduits two(network, {});
  keeper at_first(two.first), at_second(two.second);
  const std::vector<std::byte> body(1 << 20);
  std::vector<packet_record> records(5);
  for (packet_record& each : records)
    static_cast<void>(two.first.send(1, sending::announced, body_header, body, &each));
  step_until(at_first, at_second, [&] { return at_second.offered.size() == 5; });
  at_second.accept(3);
  bool closed = false;
  for (int step = 0; step < 10'000 && !closed; ++step) {
    closed = two.second.close(at_second, false);
    two.first.progress(at_first);
  }
  EXPECT_TRUE(closed);
  EXPECT_EQ(at_second.whole, 1);
  EXPECT_EQ(at_first.freed.size(), 5U);
  ASSERT_EQ(at_first.failures.size(), 1U);
  EXPECT_EQ(at_first.failures[0].second, "its connection broke (it has left the wire)");
  EXPECT_EQ(two.first.send(1, sending::copied, {}, body_header, &records[0]), send_result::done);
  for (int step = 0; step < 10'000 && !two.first.close(at_first, false); ++step) {
  }
  EXPECT_EQ(network.posted(), 0U);
  EXPECT_EQ(network.messages(), 0U);
}

TEST(mpi_conduit, an_error_of_mpi_loses_the_peer_once) {
  fake_network network(2, {});
  pair_of_conduits two(network, {});
  keeper at_first(two.first), at_second(two.second);
  const std::vector<std::byte> body(1 << 20), small(64);
  packet_record offered, refused, never;
  EXPECT_EQ(two.first.send(1, sending::announced, body_header, body, &offered), send_result::under_way);
  network.break_rank(1);
  EXPECT_EQ(two.first.send(1, sending::copied, {}, small, &refused), send_result::done);
  EXPECT_EQ(two.first.send(1, sending::copied, {}, small, &never), send_result::done);
  step_until(at_first, at_second, [&] { return at_first.freed.size() == 1; });
  EXPECT_EQ(at_first.freed[0], &offered);
  ASSERT_EQ(at_first.failures.size(), 1U);
  EXPECT_EQ(at_first.failures[0].second, "its connection broke (MPI_Isend: the rank is broken)");
  EXPECT_EQ(two.first.state(1), peer_state::failed);
}

// Bodies that are complete in one look: what the first one's report does must not touch the others' requests, which
// are MPI's no more, nor the first one itself.
TEST(mpi_conduit, an_error_inside_the_report_of_a_body_spares_what_is_complete) {
  fake_network network(2, {.longest_delay = 0});
  pair_of_conduits two(network, {.piece_bytes = 100'000});
  keeper at_first(two.first), at_second(two.second);
  const std::vector<std::byte> body(300'000);  // three pieces
  std::vector<packet_record> records(4);
  for (packet_record& each : records)
    static_cast<void>(two.first.send(1, sending::announced, body_header, body, &each));
  step_until(at_first, at_second, [&] { return at_second.offered.size() == records.size(); });
  network.hold(mpi_channel::body, 1);
  for (std::size_t i = 0; i < records.size(); ++i) at_second.accept(i);
  for (int step = 0; step < 100; ++step) {
    two.first.progress(at_first);
    two.second.progress(at_second);
  }
  ASSERT_EQ(at_second.whole, 0);
  packet_record answer;
  at_second.when_filled = [&] {
    network.break_rank(0);
    static_cast<void>(two.second.send(0, sending::copied, {}, body_header, &answer));
  };
  network.let_go();
  for (int step = 0; step < 100; ++step) two.second.progress(at_second);
  EXPECT_EQ(at_second.whole, 4);
  ASSERT_EQ(at_second.failures.size(), 1U);
  EXPECT_EQ(at_second.failures[0].second, "its connection broke (MPI_Isend: the rank is broken)");
}

// A body is delivered, and the answer to it finds that another sender has failed, whose bodies have come unannounced.
TEST(sized_receives, a_sender_is_forgotten_inside_a_delivery) {
  fake_network network(3, {.longest_delay = 0});
  constexpr std::size_t bytes = 5000;
  sized_receives receives(network.rank(0), {.fixed = read_posted_ahead("8x5000")});
  const std::vector<std::byte> body(bytes);
  std::vector<boot::mpi_request> sends;
  const auto send = [&](int from) {
    sends.push_back(network.rank(from).send(mpi_channel::body, 0, static_cast<int>(size_class_of(bytes)), body));
  };
  for (const int from : {1, 1, 1, 2, 2, 1}) send(from);
  receives.announced(2, body_header, bytes);
  receives.announced(2, body_header, bytes);
  int delivered = 0;
  const auto deliver = [&](std::span<const std::byte>, std::span<const std::byte> came) {
    EXPECT_EQ(came.size(), bytes);
    if (++delivered == 1) receives.forget(1);
  };
  for (int step = 0; step < 10; ++step) receives.take(deliver);
  EXPECT_EQ(delivered, 2);
  EXPECT_TRUE(receives.is_settled());
  for (int tries = 0; tries < 1000 && !receives.withdraw(); ++tries) {
  }
}

// It cannot be woken by a message, so it says how long to sleep, and sleeps not at all while it has something to do.
TEST(mpi_conduit, sleeps_in_naps) {
  fake_network network(2, {.longest_delay = 0});
  pair_of_conduits two(network, {});
  keeper at_first(two.first), at_second(two.second);
  while (two.first.progress(at_first)) {
  }
  std::int64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(two.first.prepare_sleep());
    EXPECT_EQ(two.first.longest_sleep_ns(), last == 0 ? 50'000 : std::min<std::int64_t>(2 * last, 1'000'000));
    last = two.first.longest_sleep_ns();
  }
  EXPECT_EQ(last, 1'000'000);
  packet_record record;
  static_cast<void>(two.second.send(0, sending::copied, {}, body_header, &record));
  step_until(at_first, at_second, [&] { return at_first.sizes.size() == 1; });
  while (two.first.progress(at_first)) {
  }
  ASSERT_TRUE(two.first.prepare_sleep());
  EXPECT_EQ(two.first.longest_sleep_ns(), 50'000);
}

TEST(mpi_conduit, what_cannot_be_is_refused) {
  fake_network network(2, {});
  check_throws<std::invalid_argument>([&] { mpi_conduit(network.rank(0), 2, {.small_bytes = 100}); },
                                      "wire_mpi_small_bytes is 100; it must be from 256 to 1048576");
  mpi_conduit wire(network.rank(0), 2, {});
  const std::vector<std::byte> untrusted(8);
  check_throws<std::runtime_error>(
      [&] { wire.connect(1, untrusted); },
      "what process 1 gives as its address is not a rank of this MPI job: all processes of "
      "a job must run the same build of the program with the same --tri-wire");
  end(wire);
}

TEST(posting_plan, reads_what_the_user_says) {
  EXPECT_EQ(read_posted_ahead(""), std::vector<posted_ahead>{});
  EXPECT_EQ(read_posted_ahead("4x65536,2x1"), (std::vector<posted_ahead>{{4, 65536}, {2, 1}}));
  for (const char* wrong : {"4", "x", "4x", "0x100", "4x0", "4x2000000", "4x100;2x3", "-1x5"}) {
    check_throws<std::invalid_argument>([&] { read_posted_ahead(wrong); },
                                        std::string("'") + wrong +
                                            "' in wire_mpi_posted; each part is COUNTxBYTES, 1 to 4096 receives of 1 "
                                            "to 1048576 bytes, such as 4x65536");
  }
}

TEST(posting_plan, shares_the_buffers_out_by_how_often_a_size_was_seen) {
  posting_plan plan({.fixed = {{2, 9 * 1024}}, .adaptive_classes = 2, .interval = 10, .buffers = 10});
  for (int i = 0; i < 9; ++i) plan.saw(20);
  EXPECT_FALSE(plan.renew());
  plan.saw(30);
  EXPECT_TRUE(plan.renew());
  EXPECT_EQ(plan.wanted(20), 9U);
  EXPECT_EQ(plan.wanted(30), 1U);
  EXPECT_EQ(plan.wanted(9), 2U);
  for (std::size_t i = 0; i < 10; ++i) plan.saw(i < 5 ? 40 : i < 8 ? 50 : 60);
  EXPECT_TRUE(plan.renew());
  EXPECT_EQ(plan.wanted(40), 6U);
  EXPECT_EQ(plan.wanted(50), 3U);
  EXPECT_EQ(plan.wanted(60), 0U) << "the third most frequent of two";
  EXPECT_EQ(plan.wanted(20), 0U);
  EXPECT_EQ(plan.wanted(9), 2U) << "what the user said stays";
}

}  // namespace
}  // namespace tri::wire::test
