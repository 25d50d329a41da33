#include "sched/poll_bell.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <system_error>

namespace tri::sched {
namespace {

constexpr std::size_t name_bytes = 5;  // that the kernel gives, after the zero of the abstract namespace
constexpr auto prefix_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path));
constexpr auto address_bytes = static_cast<socklen_t>(prefix_bytes + 1 + name_bytes);

host::unique_fd make_socket() {
  host::unique_fd made(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) throw std::system_error(errno, std::generic_category(), "trireme: a socket to be woken by");
  return made;
}

}  // namespace

poll_bell::poll_bell() : socket_(make_socket()), name_(0) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), prefix_bytes) != 0)
    throw std::system_error(errno, std::generic_category(), "trireme: a name for the socket to be woken by");
  socklen_t length = sizeof address;
  getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  if (length != address_bytes) throw std::runtime_error("trireme: the kernel gave a socket a name of unknown form");
  std::memcpy(&name_, address.sun_path + 1, name_bytes);
}

void poll_bell::sleep(int descriptor, std::int64_t timeout_ns) const {
  pollfd waits[2] = {{socket_.get(), POLLIN, 0}, {descriptor, POLLIN, 0}};
  const timespec limit{static_cast<time_t>(timeout_ns / 1'000'000'000), static_cast<long>(timeout_ns % 1'000'000'000)};
  ppoll(waits, 2, timeout_ns < 0 ? nullptr : &limit, nullptr);
  for (char heard = 0; recv(socket_.get(), &heard, 1, 0) >= 0;) {
  }
}

void poll_bell::ring(std::uint64_t name) {
  static const host::unique_fd ringer = make_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, &name, name_bytes);
  // Full means that it was rung before; gone, that nobody sleeps any more.
  sendto(ringer.get(), nullptr, 0, 0, reinterpret_cast<const sockaddr*>(&address), address_bytes);
}

}  // namespace tri::sched
