// Ports over TCP between real processes.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "support/check.hpp"
#include "wire/port/port_processes.hpp"
#include "wire/support/checked_messages.hpp"
#include "wire/support/forked_processes.hpp"

namespace tri::wire::test {
namespace {

INSTANTIATE_TEST_SUITE_P(over_tcp, port_processes, ::testing::Values(conduit_choice::tcp));

TEST(tcp_port, a_network_that_is_not_there_is_named) {
  checking_user user(0);
  port_options options = over_loopback();
  const auto open = [&] { open_port(conduit_choice::tcp, 0, 2, user, {}, options); };
  options.devices = "lo,loo7";
  tri::testing::check_throws<std::runtime_error>(open,
                                                 "--tri-network: this host has no network interface 'loo7'; it has: ");
  options.devices = "203.0.113.0/24";
  tri::testing::check_throws<std::runtime_error>(open, "no interface of this host has an address in 203.0.113.0/24");
  options.devices = "";
  tri::testing::check_throws<std::runtime_error>(open, "names no network; an interface such as eth0");
}

// The descriptor tells when the peer takes more: until then there is nothing to spin for.
TEST(tcp_port, sleeps_beside_a_slow_reader) {
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    std::array<checking_user, 2> users = {checking_user(0), checking_user(1)};
    std::array<std::unique_ptr<port>, 2> ports;
    const auto address_of = [&](peer_number peer) {
      const std::span<const std::byte> address = ports[peer]->address();
      return std::vector<std::byte>(address.begin(), address.end());
    };
    for (unsigned self = 0; self < 2; ++self)
      ports[self] = open_port(conduit_choice::tcp, self, 2, users[self], address_of, over_loopback());
    body_store bodies;
    send_checked(*ports[0], bodies, 0, 1, 0, 4000);
    while (users[1].arrived() == 0) {
      ports[0]->progress();
      ports[1]->progress();
    }
    constexpr std::uint64_t messages = 10'000;  // of 40 MB in all, more than the kernel holds
    for (std::uint64_t number = 1; number < messages; ++number) send_checked(*ports[0], bodies, 0, 1, number, 4000);
    pollfd waiting = {.fd = ports[0]->wake_descriptor(), .events = POLLIN, .revents = 0};
    bool sleeps = false;
    for (int step = 0; step < 1000 && !sleeps; ++step) {
      while (ports[0]->progress()) {
      }
      sleeps = ports[0]->prepare_sleep() && poll(&waiting, 1, 0) == 0;
    }
    testing::check(sleeps, "it does not sleep while the peer reads nothing");
    while (users[1].arrived() < messages) {
      ports[1]->progress();
      while (poll(&waiting, 1, 0) == 1) {
        while (ports[0]->progress()) {
        }
        static_cast<void>(ports[0]->prepare_sleep());
      }
    }
    users[1].verify();
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean());
}

}  // namespace
}  // namespace tri::wire::test
