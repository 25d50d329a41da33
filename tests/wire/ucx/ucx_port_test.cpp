// Ports over UCX between real processes, with TCP over the loopback device.
#include <gtest/gtest.h>

#include "support/check.hpp"
#include "wire/port/port_processes.hpp"
#include "wire/support/checked_messages.hpp"
#include "wire/support/forked_processes.hpp"

namespace tri::wire::test {
namespace {

INSTANTIATE_TEST_SUITE_P(over_ucx, port_processes, ::testing::Values(conduit_choice::ucx));

TEST(ucx_port, unknown_device_is_named) {
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    checking_user user(0);
    port_options options = over_loopback();
    const auto open = [&] { open_port(conduit_choice::ucx, 0, 2, user, {}, options); };
    options.devices = "lo,loo7";
    tri::testing::check_throws<std::runtime_error>(open, "this host has no network device 'loo7'; it has: ");
    options.devices = "lo";
    options.transports = "no_such_transport";
    tri::testing::check_throws<std::runtime_error>(open,
                                                   "with the transports 'no_such_transport' and the devices 'lo'");
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean());
}

}  // namespace
}  // namespace tri::wire::test
