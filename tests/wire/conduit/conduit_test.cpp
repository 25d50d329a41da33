// Each conduit keeps the promises of the concept; and what belongs to one of them alone.
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "wire/conduit/conduit_rules.hpp"
#include "wire/loop/loop_conduit.hpp"
#include "wire/network_devices.hpp"
#include "wire/port_over.hpp"
#include "wire/support/forked_processes.hpp"
#include "wire/ucx/ucx_conduit.hpp"
#include "wire/ucx/ucx_library.hpp"

namespace tri::wire::test {
namespace {

using testing::check;
using testing::check_equal;
using testing::check_throws;

std::vector<std::byte> loop_address(peer_number peer) {
  const auto bytes = std::as_bytes(std::span(&peer, 1));
  return {bytes.begin(), bytes.end()};
}

TEST(Conduit, LoopKeepsItsPromisesForEverySeed) {
  std::size_t read_late = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    loop_network network(2, {.seed = seed, .longest_delay = 40, .piece_bytes = 1000});
    loop_conduit first(network, 0), second(network, 1);
    first.connect(1, loop_address(1));
    second.connect(0, loop_address(0));
    conduit_player<loop_conduit> at_first(first, 0), at_second(second, 1);
    at_first.send_all();
    at_second.send_all();
    while (!at_first.finished() || !at_second.finished()) {
      ASSERT_NO_THROW(at_first.turn());
      ASSERT_NO_THROW(at_second.turn());
    }
    EXPECT_GT(at_first.counts.refused, 0U);
    EXPECT_GT(at_first.counts.filled, 0U);
    EXPECT_TRUE(at_first.losses.empty());
    read_late += at_first.counts.under_way;
  }
  EXPECT_GT(read_late, 900U);
}

TEST(Conduit, UcxKeepsItsPromises) {
  const ended_processes ended = run_processes(2, [](unsigned self, shared_by_processes& shared) {
    ucx_conduit wire(2, {.transports = "tcp", .devices = "lo"});
    shared.publish(self, wire.address());
    check(wire.state(1 - self) == peer_state::unknown, "a peer is known before it is connected");
    wire.connect(1 - self, shared.address_of(1 - self));
    check(wire.state(1 - self) == peer_state::connected, "a connected peer is not known");
    conduit_player<ucx_conduit> player(wire, self);
    player.send_all();
    while (!player.finished()) player.turn();
    ++shared.marks[0];
    while (shared.marks[0].load() < 2) player.turn();
    check(player.counts.refused > 0 && player.counts.filled > 0, "bodies were refused and filled");
    check(player.losses.empty(), "nobody was lost");
    while (!wire.close(player, false)) {
    }
    ++shared.marks[1];
    shared.await_mark(1, 2);
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean() && ended.ends[1].clean());
}

// The same seed, the same events at the same ticks.
TEST(LoopNetwork, SeedDecidesEverything) {
  struct recorder final : conduit_events {
    void packet(std::span<const std::byte>, std::span<const std::byte> body) override {
      order.push_back(static_cast<int>(body.size()));
    }
    void announced(std::span<const std::byte>, std::size_t, announcement) override {}
    void filled(packet_token, bool) override {}
    void sent(packet_token) override { order.push_back(-1); }
    void lost(peer_number, const std::string&) override {}
    std::vector<int> order;
  };
  const auto order_of = [](std::uint64_t seed) {
    loop_network network(2, {.seed = seed});
    loop_conduit from(network, 0), to(network, 1);
    from.connect(1, loop_address(1));
    recorder events;
    std::vector<std::byte> bytes(50);
    std::vector<packet_record> records(50);
    for (std::size_t size = 0; size < 50; ++size)
      static_cast<void>(from.send(1, sending::copied, {}, std::span(bytes).first(size), &records[size]));
    for (int turn = 0; turn < 1000; ++turn) {
      from.progress(events);
      to.progress(events);
    }
    return events.order;
  };
  EXPECT_EQ(order_of(7), order_of(7));
  EXPECT_NE(order_of(7), order_of(8));
}

// A process that is never talked to costs at most 64 bytes, in the port and in UCX together.
TEST(UcxConduit, BytesPerSilentPeer) {
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    struct nobody final : port_user {
      void* place_for(peer_number, std::span<const std::byte>, std::size_t) override { return nullptr; }
      void arrived(peer_number, std::span<const std::byte>, void*, std::size_t) override {}
      void abandoned(void*) override {}
      void lost(peer_number, const std::string&) override {}
    } user;
    port_options options;
    options.transports = "tcp";
    options.devices = "lo";
    const auto used_by = [&](std::size_t peers) {
      const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
      const std::size_t before = in_use();
      const auto wire = open_port(conduit_choice::ucx, 0, peers, user, {}, options);
      return in_use() - before;
    };
    used_by(2);  // what is made once
    const std::size_t few = used_by(2), many = used_by(65'538);
    check(many > few, "peers cost nothing, which cannot be");
    const double each = static_cast<double>(many - few) / 65'536;
    std::fprintf(stderr, "bytes per silent peer: %.1f\n", each);
    check(each <= 64, "a silent peer costs " + std::to_string(each) + " bytes");
  });
  EXPECT_EQ(ended.complaint, "");
}

TEST(UcxLibrary, AFunctionThatIsMissingIsNamed) {
  check_throws<std::runtime_error>([] { ucx_function("ucp_no_such_function"); },
                                   "the libucp.so.0 of this machine has no ucp_no_such_function");
}

TEST(NetworkDevices, ThoseOfTheSystem) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("trireme-devices-" + std::to_string(getpid()));
  fs::create_directories(root / "net" / "eth0");
  fs::create_directories(root / "net" / "lo");
  std::ofstream(root / "net" / "bonding_masters") << "";
  fs::create_directories(root / "infiniband" / "mlx5_0" / "ports" / "1");
  fs::create_directories(root / "infiniband" / "mlx5_0" / "ports" / "2");
  const std::vector<std::string> expected = {"eth0", "lo", "mlx5_0:1", "mlx5_0:2"};
  EXPECT_EQ(network_devices(root.string()), expected);
  EXPECT_NO_THROW(check_network_devices("eth0,mlx5_0:2", expected));
  EXPECT_NO_THROW(check_network_devices("all", expected));
  EXPECT_NO_THROW(check_network_devices("^lo", expected));
  check_throws<std::runtime_error>([&] { check_network_devices("eth0,mlx5_0:3", expected); },
                                   "this host has no network device 'mlx5_0:3'; it has: eth0, lo, mlx5_0:1, mlx5_0:2; "
                                   "did you mean 'mlx5_0:1'?");
  check_throws<std::runtime_error>([&] { check_network_devices("^eth1", expected); }, "no network device 'eth1'");
  fs::remove_all(root);
}

}  // namespace
}  // namespace tri::wire::test
