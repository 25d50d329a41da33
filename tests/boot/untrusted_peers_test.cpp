// Who disturbs the start of a job: another user who connects to every socket of ours that he sees, and processes of the
// job that come and are silent.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "boot/arena_exchange.hpp"
#include "boot/bootstrap_messages.hpp"
#include "boot/peer_table.hpp"
#include "launched_job.hpp"
#include "os/child_process.hpp"
#include "support/another_user.hpp"
#include "support/untrusted_client.hpp"

namespace tri::boot {
namespace {

using boot::testing::launched_job;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class untrusted_peers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
    setenv("TRIREME_PES", "1", 1);
    untrusted_client_.emplace("trireme-");
  }
  // Some jobs, until one has accepted the connection: on a busy machine it may come late to the first ones.
  template <class Command>
  void expect_exchanges(const Command& command) const {
    for (int round = 0; round < 5 || (untrusted_client_->connections() == 0 && round < 300); ++round) {
      launched_job started(command);
      EXPECT_EQ(started.wait(), 0) << started.output();
      for (int i = 0; i < 4; ++i)
        EXPECT_THAT(started.output(),
                    HasSubstr(fmt::format("process {} of 4 on host 0 of 1, pes 1: 0.0=memory-0 0.1=memory-1 "
                                          "0.2=memory-2 0.3=memory-3\n",
                                          i)));
      if (HasFailure()) return;
    }
    EXPECT_GT(untrusted_client_->connections(), 0) << "no connection came to these jobs";
  }

 private:
  std::optional<tri::testing::untrusted_client> untrusted_client_;
};

TEST_F(untrusted_peers, do_not_disturb_a_job_of_our_launcher) {
  expect_exchanges(boot::testing::probe(4, {"exchange"}));
}

TEST_F(untrusted_peers, do_not_disturb_a_job_of_another_launcher) {
  if (*MPIRUN_MPICH == 0) GTEST_SKIP() << "mpirun.mpich is not installed (scripts/deps.sh test)";
  expect_exchanges(std::vector<std::string>{MPIRUN_MPICH, "-n", "4", JOB_PROBE, "exchange"});
}

// The processes of a host, played by children of the test.
class exchange_of_a_host : public ::testing::Test {
 protected:
  const std::string name = fmt::format("trireme-test-{}", os::random_text());
  const own_facts facts{-1, 7, 1, 1};
  machine_members members{0, {getpid()}, {"the first"}};
  roster table;

  void add(const std::string& called, const std::function<void()>& what) {
    members.pids.push_back(os::start_function([&] {
      what();
      return pause();
    }));
    members.names.push_back(called);
  }
  ~exchange_of_a_host() override {
    for (const pid_t each : members.pids)
      if (each != getpid()) os::kill_and_wait(each);
  }
};

TEST_F(exchange_of_a_host, names_the_absent_and_the_silent) {
  os::packet_socket listener = os::packet_socket::listen(name);
  std::vector<os::packet_socket> open;
  add("the silent one", [&] { open.push_back(os::packet_socket::connect(name)); });
  add("the absent one", [] {});
  add("the third", [&] {
    open.push_back(os::packet_socket::connect(name));
    open.back().send(encode(hello_of(3, facts)));
  });
  table.peers.resize(4);
  EXPECT_THAT([&] { lead_exchange(listener, members, layout::even(4, 1), facts, time_limit(2), table); },
              ThrowsMessage<job_error>(
                  HasSubstr("the silent one, the absent one have said nothing for 2 s (--tri-start-timeout-s)")));
}

TEST_F(exchange_of_a_host, a_follower_does_not_wait_for_ever) {
  os::packet_socket listener = os::packet_socket::listen(name);
  EXPECT_THAT([&] { follow_exchange(name, 1, members, facts, time_limit(0.2), table); },
              ThrowsMessage<job_error>("the first has said nothing for 0.4 s (--tri-start-timeout-s)"));
}

// A listener with no room: its owner accepts nobody.
TEST_F(exchange_of_a_host, a_follower_that_is_not_let_in_does_not_wait_for_ever) {
  const os::unique_fd full(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(full.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(full.get(), 0), 0);
  const os::packet_socket in_the_way = os::packet_socket::connect(name);
  EXPECT_THAT([&] { follow_exchange(name, 1, members, facts, time_limit(0.5), table); },
              ThrowsMessage<std::system_error>(HasSubstr("cannot connect to the socket @" + name)));
}

}  // namespace
}  // namespace tri::boot
