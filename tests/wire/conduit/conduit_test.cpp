// Each conduit keeps the promises of the concept; and what belongs to one of them alone.
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "wire/conduit/conduit_rules.hpp"
#include "wire/conduit_port.hpp"
#include "wire/loop/loop_conduit.hpp"
#include "wire/network_devices.hpp"
#include "wire/support/forked_processes.hpp"
#include "wire/ucx/ucx_conduit.hpp"
#include "wire/ucx/ucx_library.hpp"
#include "wire/wire_choice.hpp"

namespace tri::wire::test {
namespace {

using testing::check;
using testing::check_equal;
using testing::check_throws;

std::vector<std::byte> loop_address(peer_number peer) {
  const auto bytes = std::as_bytes(std::span(&peer, 1));
  return {bytes.begin(), bytes.end()};
}

TEST(conduit, loop_keeps_its_promises_for_every_seed) {
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
      ASSERT_NO_THROW(at_first.step());
      ASSERT_NO_THROW(at_second.step());
    }
    EXPECT_GT(at_first.counts.refused, 0U);
    EXPECT_GT(at_first.counts.filled, 0U);
    EXPECT_TRUE(at_first.failures.empty());
    read_late += at_first.counts.under_way;
  }
  EXPECT_GT(read_late, 900U);
}

TEST(conduit, ucx_keeps_its_promises) {
  const ended_processes ended = run_processes(2, [](unsigned self, shared_by_processes& shared) {
    ucx_conduit wire(2, {.transports = "tcp", .devices = "lo"});
    shared.publish(self, wire.address());
    check(wire.state(1 - self) == peer_state::unknown, "a peer is known before it is connected");
    wire.connect(1 - self, shared.address_of(1 - self));
    check(wire.state(1 - self) == peer_state::connected, "a connected peer is not known");
    conduit_player<ucx_conduit> player(wire, self);
    player.send_all();
    while (!player.finished()) player.step();
    ++shared.marks[0];
    while (shared.marks[0].load() < 2) player.step();
    ++shared.marks[1];
    shared.await_mark(1, 2);  // the peer is in a step no more: it would see us close as a failure
    check(player.counts.refused > 0 && player.counts.filled > 0, "bodies were refused and filled");
    check(player.failures.empty(), "no peer failed");
    while (!wire.close(player, false)) {
    }
    ++shared.marks[2];
    shared.await_mark(2, 2);
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean() && ended.ends[1].clean());
}

// What UCX has begun in a call may make progress without an event that would wake a sleeper.
TEST(ucx_conduit, looks_again_after_a_send_before_it_sleeps) {
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    struct counter final : conduit_events {
      void packet(std::span<const std::byte>, std::span<const std::byte>) override { ++packets; }
      void announced(std::span<const std::byte>, std::size_t bytes, announcement body) override {
        memory.resize(bytes);
        wire->accept(body, memory.data(), bytes, &record);
        check(!wire->prepare_sleep(), "it sleeps beside a body that it has just accepted");
      }
      void filled(packet_token, bool) override { ++packets; }
      void sent(packet_token) override {}
      void peer_failed(peer_number, const std::string&) override {}
      ucx_conduit* wire = nullptr;
      packet_record record;
      std::vector<std::byte> memory;
      int packets = 0;
    };
    const ucx_options options = {.transports = "tcp", .devices = "lo"};
    ucx_conduit from(2, options), to(2, options);
    from.connect(1, to.address());
    counter at_from, at_to;
    at_to.wire = &to;
    const std::vector<std::byte> header(8), body(100);
    std::array<packet_record, 3> records;
    for (int sent = 0; sent < 3; ++sent) {
      static_cast<void>(from.send(1, sent == 2 ? sending::announced : sending::copied, header, body,
                                  &records[static_cast<std::size_t>(sent)]));
      check(!from.prepare_sleep(), "it sleeps beside a packet that it has just sent");
      const auto moves = [&] {
        const bool either = from.progress(at_from);
        return to.progress(at_to) || either;
      };
      while (moves() || at_to.packets <= sent || !from.prepare_sleep() || !to.prepare_sleep()) {
      }
    }
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean());
}

// The same seed, the same events at the same ticks.
TEST(loop_network, seed_decides_everything) {
  struct recorder final : conduit_events {
    void packet(std::span<const std::byte>, std::span<const std::byte> body) override {
      order.push_back(static_cast<int>(body.size()));
    }
    void announced(std::span<const std::byte>, std::size_t, announcement) override {}
    void filled(packet_token, bool) override {}
    void sent(packet_token) override { order.push_back(-1); }
    void peer_failed(peer_number, const std::string&) override {}
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
    for (int step = 0; step < 1000; ++step) {
      from.progress(events);
      to.progress(events);
    }
    return events.order;
  };
  EXPECT_EQ(order_of(7), order_of(7));
  EXPECT_NE(order_of(7), order_of(8));
}

// A process that is never talked to costs at most 64 bytes, in the port and in the conduit together.
void expect_cheap_silent_peers(conduit_choice conduit) {
  const ended_processes ended = run_processes(1, [conduit](unsigned, shared_by_processes&) {
    struct nobody final : port_user {
      void* memory_for(peer_number, std::span<const std::byte>, std::size_t) override { return nullptr; }
      void arrived(peer_number, std::span<const std::byte>, void*, std::size_t) override {}
      void abandoned(void*) override {}
      void peer_failed(peer_number, const std::string&) override {}
    } user;
    port_options options;
    options.transports = "tcp";
    options.devices = "lo";
    const auto used_by = [&](std::size_t peers) {
      const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
      const std::size_t before = in_use();
      const auto wire = open_port(conduit, 0, peers, user, {}, options);
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

TEST(ucx_conduit, bytes_per_silent_peer) { expect_cheap_silent_peers(conduit_choice::ucx); }
TEST(tcp_conduit, bytes_per_silent_peer) { expect_cheap_silent_peers(conduit_choice::tcp); }

TEST(ucx_library, a_function_that_is_missing_is_named) {
  check_throws<std::runtime_error>([] { ucx_function("ucp_no_such_function"); },
                                   "the libucp.so.0 of this machine has no ucp_no_such_function");
}

TEST(network_devices, those_of_the_system) {
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

const std::vector<network_interface> three_interfaces = {
    {.name = "eth0", .addresses = {"10.1.2.3", "fd00:1::3"}, .is_loopback = false},
    {.name = "eth1", .addresses = {"192.168.7.9"}, .is_loopback = false},
    {.name = "lo", .addresses = {"127.0.0.1", "::1"}, .is_loopback = true}};
const std::vector<std::string> four_devices = {"eth0", "eth1", "lo", "mlx5_0:1"};

TEST(network_devices, a_network_is_named_by_interface_or_by_its_addresses) {
  const auto devices_of = [](const char* network) {
    return devices_of_network(network, three_interfaces, four_devices);
  };
  EXPECT_EQ(devices_of("eth1"), "eth1");
  EXPECT_EQ(devices_of("eth1,mlx5_0:1"), "eth1,mlx5_0:1");
  EXPECT_EQ(devices_of("!eth1,lo"), "eth0,mlx5_0:1");
  EXPECT_EQ(devices_of("10.1.0.0/16"), "eth0");
  EXPECT_EQ(devices_of("fd00::/8"), "eth0");
  EXPECT_EQ(devices_of("10.1.2.3/32,eth0"), "eth0");
  EXPECT_EQ(devices_of("0.0.0.0/0"), "eth0,eth1,lo");
  EXPECT_EQ(devices_of("!127.0.0.0/8"), "eth0,eth1,mlx5_0:1");
}

TEST(network_devices, a_network_that_is_not_there_is_named_with_those_that_are) {
  const auto refuses = [](const char* network, const char* words) {
    check_throws<std::runtime_error>([&] { devices_of_network(network, three_interfaces, four_devices); }, words);
  };
  const std::string has = "it has: eth0 (10.1.2.3, fd00:1::3), eth1 (192.168.7.9), lo (127.0.0.1, ::1), mlx5_0:1";
  refuses("10.2.0.0/16", ("--tri-network: no interface of this host has an address in 10.2.0.0/16; " + has).c_str());
  refuses("eth2",
          ("--tri-network: this host has no network interface 'eth2'; " + has + "; did you mean 'eth0'?").c_str());
  for (const char* const wrong : {"10.1.0.0/33", "10.1/8", "fd00::/129", "/8", "10.1.0.0/", "10.1.0.0/8x", "eth0/24"})
    refuses(wrong,
            ("--tri-network: '" + std::string(wrong) + "' is not a network such as 10.1.0.0/16 or fd00::/8").c_str());
  refuses("!0.0.0.0/0,mlx5_0:1",
          ("--tri-network: '!0.0.0.0/0,mlx5_0:1' leaves no network of this host; " + has).c_str());
  refuses("!",
          "--tri-network: '!' names no network; an interface such as eth0 or a network such as 10.1.0.0/16 would do");
}

TEST(network_devices, addresses_of_a_network_are_those_in_it_or_of_its_interfaces) {
  const std::vector<network_interface> interfaces = {
      {.name = "eth0", .addresses = {"10.1.2.3", "203.0.113.7", "fd00:1::3", "fe80::1"}, .prefixes = {16, 24, 64, 64}},
      {.name = "eth1", .addresses = {"192.168.7.9"}, .prefixes = {30}},
      {.name = "lo", .addresses = {"127.0.0.1", "::1"}, .is_loopback = true, .prefixes = {8, 128}}};
  const auto addresses_of = [&](const char* network) {
    std::string words;
    for (const network_address& each : addresses_of_network(network, interfaces, four_devices))
      words += each.interface + "/" + each.text + "/" + std::to_string(each.prefix) + " ";
    return words;
  };
  EXPECT_EQ(addresses_of("lo"), "lo/127.0.0.1/8 lo/::1/128 ");
  EXPECT_EQ(addresses_of("10.1.0.0/16"), "eth0/10.1.2.3/16 ");
  EXPECT_EQ(addresses_of("10.1.0.0/16,eth1"), "eth0/10.1.2.3/16 eth1/192.168.7.9/30 ");
  EXPECT_EQ(addresses_of("eth0,10.1.0.0/16"), "eth0/10.1.2.3/16 eth0/203.0.113.7/24 eth0/fd00:1::3/64 ");
  EXPECT_EQ(addresses_of("!10.1.0.0/16,lo"), "eth1/192.168.7.9/30 ");
  EXPECT_EQ(addresses_of("eth1,mlx5_0:1"), "eth1/192.168.7.9/30 ");
  const auto refuses = [&](const char* network) {
    check_throws<std::runtime_error>([&] { addresses_of(network); },
                                     ("--tri-network: nothing in '" + std::string(network) +
                                      "' has an address by which other hosts could reach this one over TCP")
                                         .c_str());
  };
  refuses("mlx5_0:1");
  refuses("fe80::/10");
}

TEST(network_devices, two_addresses_are_in_one_network_by_its_first_bits) {
  EXPECT_TRUE(are_in_one_network("10.1.2.3", "10.1.255.9", 16));
  EXPECT_FALSE(are_in_one_network("10.1.2.3", "10.2.2.3", 16));
  EXPECT_TRUE(are_in_one_network("10.1.2.3", "10.1.2.2", 31));
  EXPECT_FALSE(are_in_one_network("10.1.2.3", "10.1.2.1", 31));
  EXPECT_TRUE(are_in_one_network("fd00::1", "fd00::2", 64));
  EXPECT_FALSE(are_in_one_network("fd00::1", "10.0.0.1", 1));
  EXPECT_FALSE(are_in_one_network("10.1.2.3", "x", 0));
}

TEST(network_devices, a_job_on_one_machine_stays_there) {
  EXPECT_EQ(devices_of_job(1, three_interfaces, four_devices), "lo");
  EXPECT_EQ(devices_of_job(2, three_interfaces, four_devices), "eth0,eth1,mlx5_0:1");
  const std::vector<network_interface> loopback_alone = {three_interfaces.back()};
  EXPECT_EQ(devices_of_job(2, loopback_alone, {"lo"}), "");
  EXPECT_EQ(devices_of_job(2, loopback_alone, {"lo", "mlx5_0:1"}), "mlx5_0:1");
}

TEST(wire_choice, is_ucx_for_adapters_or_by_wish_else_tcp) {
  const network_of_host without = {.interfaces = three_interfaces, .devices = four_devices, .active_ports = {}};
  const network_of_host with = {.interfaces = three_interfaces, .devices = four_devices, .active_ports = {"mlx5_0:1"}};
  const auto choice = [](const network_of_host& host, const wire_wishes& wishes) {
    const wire_choice made = choose_wire(wishes, host);
    return std::string(name_of(made.conduit)) + " " + made.transports + " " + made.devices;
  };
  EXPECT_EQ(choice(with, {.machines = 1}), "tcp  lo");
  EXPECT_EQ(choice(with, {.machines = 2}), "ucx ^tcp,shm,self eth0,eth1,mlx5_0:1");
  EXPECT_EQ(choice(without, {.machines = 2}), "tcp  eth0,eth1,mlx5_0:1") << "a port without a link carries nothing";
  EXPECT_EQ(choice(with, {.network = "eth0", .machines = 2}), "tcp  eth0");
  EXPECT_EQ(choice(with, {.network = "10.1.0.0/16", .machines = 2}), "tcp  10.1.0.0/16");
  EXPECT_EQ(choice(with, {.network = "mlx5_0:1", .machines = 2}), "ucx ^tcp,shm,self mlx5_0:1");
  EXPECT_EQ(choice(with, {.conduit = conduit_choice::tcp, .machines = 2}), "tcp  eth0,eth1,mlx5_0:1");
  EXPECT_EQ(choice(without, {.conduit = conduit_choice::ucx, .machines = 1}), "ucx  lo");
  EXPECT_EQ(choice(without, {.ucx_transports = "tcp", .machines = 1}), "ucx tcp lo");
  EXPECT_EQ(choice(without, {.environment_has_transports = true, .machines = 1}), "ucx  lo");
  EXPECT_EQ(choice(without, {.environment_has_devices = true, .machines = 1}), "ucx  ");
  EXPECT_EQ(choice(without, {.conduit = conduit_choice::tcp, .environment_has_devices = true}), "tcp  lo");
  EXPECT_EQ(choice(without, {.conduit = conduit_choice::mpi, .network = "none"}), "mpi  ");
  check_throws<std::invalid_argument>([&] { choice(with, {.conduit = conduit_choice::tcp, .ucx_transports = "rc"}); },
                                      "--tri-wire-transports 'rc' are transports of UCX, but --tri-wire is tcp");
}

TEST(network_devices, a_port_of_an_adapter_needs_a_link) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("trireme-ports-" + std::to_string(getpid()));
  for (const char* const port : {"1", "2"}) fs::create_directories(root / "infiniband" / "mlx5_0" / "ports" / port);
  std::ofstream(root / "infiniband" / "mlx5_0" / "ports" / "1" / "state") << "1: DOWN\n";
  std::ofstream(root / "infiniband" / "mlx5_0" / "ports" / "2" / "state") << "4: ACTIVE\n";
  EXPECT_EQ(active_adapter_ports(root.string()), std::vector<std::string>{"mlx5_0:2"});
  fs::remove_all(root);
}

TEST(network_devices, those_that_are_up_have_addresses) {
  const std::vector<network_interface> found = network_interfaces();
  for (const network_interface& each : found) EXPECT_FALSE(each.addresses.empty()) << each.name;
  EXPECT_TRUE(std::ranges::any_of(found, [](const network_interface& each) { return each.is_loopback; }));
}

}  // namespace
}  // namespace tri::wire::test
