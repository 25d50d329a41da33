// The wake-up socket: rings of its own job wake it, datagrams from other users do not.
#include "sched/remote/wakeup_socket.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/another_user.hpp"

namespace tri::sched {
namespace {

class wakeup_socket_test : public ::testing::Test {
 protected:
  wakeup_socket bell;
  os::unique_fd other{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  bool was_rung() const { return bell.sleep(other.get(), 0); }
};

// The abstract sockets with names of the kernel's, as anybody sees them.
std::vector<std::string> autobound_names() {
  std::vector<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (const auto at = line.rfind(" @"); at != std::string::npos && line.size() == at + 7)
      names.push_back(line.substr(at + 2));
  return names;
}

// How many of them took it.
int send_to_all(const std::string& text) {
  const os::unique_fd from(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int taken = 0;
  for (const std::string& name : autobound_names()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const auto sent =
        sendto(from.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&address), length);
    taken += sent >= 0 ? 1 : 0;
  }
  return taken;
}

TEST_F(wakeup_socket_test, is_heard_once_however_often_it_was_rung_before) {
  EXPECT_FALSE(was_rung());
  for (int i = 0; i < 1000; ++i) wakeup_socket::ring(bell.name());
  EXPECT_TRUE(was_rung());
  EXPECT_FALSE(was_rung());
}

// The kernel counts rings that are not heard towards the send buffer of the process that rang.
TEST_F(wakeup_socket_test, is_heard_however_many_others_have_not_listened) {
  int send_buffer = 0;
  socklen_t length = sizeof send_buffer;
  const os::unique_fd any(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(getsockopt(any.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, &length), 0);
  constexpr int least_bytes_of_ring = 512;  // with what the kernel keeps of it
  const int enough = send_buffer / least_bytes_of_ring;
  // Few rings for each: their queues must not be full, and these may be as short as the host's administrator likes.
  std::deque<wakeup_socket> busy;
  constexpr int rings_for_each = 8;
  for (int rings = 0; rings < enough; rings += rings_for_each) {
    busy.emplace_back();
    for (int i = 0; i < rings_for_each; ++i) wakeup_socket::ring(busy.back().name());
  }
  wakeup_socket::ring(bell.name());
  EXPECT_TRUE(was_rung());
  for (const wakeup_socket& each : busy) EXPECT_TRUE(each.sleep(other.get(), 0));
}

TEST_F(wakeup_socket_test, wakes_a_sleeper_without_a_time_limit) {
  std::thread ringer([this] { wakeup_socket::ring(bell.name()); });
  while (!bell.sleep(other.get(), -1)) {
  }
  ringer.join();
}

TEST_F(wakeup_socket_test, returns_for_the_descriptor_too) {
  eventfd_write(other.get(), 1);
  EXPECT_FALSE(bell.sleep(other.get(), -1));
}

TEST_F(wakeup_socket_test, is_not_woken_by_what_others_send) {
  const std::uint64_t almost = bell.name() ^ (std::uint64_t{1} << 63);
  const std::string wrong_key(reinterpret_cast<const char*>(&almost), sizeof almost);
  const std::uint64_t name = bell.name();
  const std::string too_long = std::string(reinterpret_cast<const char*>(&name), sizeof name) + "x";
  for (const std::string& text : {std::string(), std::string("x"), wrong_key, too_long, std::string(4096, 'x')}) {
    EXPECT_GT(send_to_all(text), 0);
    EXPECT_FALSE(was_rung()) << text.size() << " bytes";
  }
  wakeup_socket::ring(bell.name());
  EXPECT_TRUE(was_rung());
}

TEST_F(wakeup_socket_test, another_user_neither_wakes_nor_deafens_it) {
  if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
  EXPECT_EQ(tri::testing::run_as_another_user([] {
              int taken = 0;
              for (int i = 0; i < 1000; ++i) taken += send_to_all("");  // more than a queue holds
              return taken >= 1000 ? 0 : 1;
            }),
            0);
  EXPECT_FALSE(was_rung());
  wakeup_socket::ring(bell.name());
  EXPECT_TRUE(was_rung());
}

TEST(wakeup_socket_name, has_a_key_of_its_own) {
  const wakeup_socket one, two;
  EXPECT_NE(one.name() >> 20, 0u);
  EXPECT_NE(one.name() >> 20, two.name() >> 20);
  EXPECT_NE(one.name() & 0xfffff, two.name() & 0xfffff);
}

}  // namespace
}  // namespace tri::sched
