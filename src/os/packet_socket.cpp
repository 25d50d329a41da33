#include "os/packet_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <system_error>

namespace tri::os {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

struct address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

address abstract_address(const std::string& name) {
  address made;
  made.name.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof made.name.sun_path) {
    throw std::invalid_argument(
        fmt::format("'{}' cannot name a socket: 1 .. {} characters", name, sizeof made.name.sun_path - 1));
  }
  std::memcpy(made.name.sun_path + 1, name.data(), name.size());  // the leading zero byte makes it abstract
  made.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

// The folder has a short path of its own, which also cannot lead elsewhere any more.
address address_in(int folder, const std::string& name) {
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder, name);
  address made;
  made.name.sun_family = AF_UNIX;
  if (name.empty() || path.size() + 1 > sizeof made.name.sun_path)
    throw std::invalid_argument(fmt::format("'{}' cannot name a socket in a folder", name));
  std::memcpy(made.name.sun_path, path.c_str(), path.size() + 1);
  made.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return made;
}

unique_fd open_socket(int flags) {
  unique_fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!fd) fail("cannot open a Unix socket");
  return fd;
}

// 0 s is for ever. What takes time in connecting is that the listener has room for one more.
void limit_sending(int fd, std::chrono::seconds limit) {
  const timeval longest{static_cast<time_t>(limit.count()), 0};
  if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest) != 0)
    fail("cannot limit the time that a socket takes");
}

unique_fd listen_at(const address& where, const std::string& name) {
  unique_fd fd = open_socket(SOCK_NONBLOCK);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where.name), where.bytes) != 0)
    fail("cannot bind the socket " + name);
  if (::listen(fd.get(), 1024) != 0) fail("cannot listen on the socket " + name);
  return fd;
}

struct control_buffer {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * most_packet_fds)> bytes{};
};

ucred credentials(int fd) {
  ucred who{};
  socklen_t length = sizeof who;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
    fail("cannot read the credentials of the other end of a socket");
  return who;
}

std::vector<unique_fd> take_fds(msghdr& message) {
  std::vector<unique_fd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

std::string random_text() {
  std::array<std::uint64_t, 2> bits;
  if (getrandom(bits.data(), sizeof bits, 0) != sizeof bits) fail("the system has no random numbers");
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

packet_socket packet_socket::listen(const std::string& abstract_name) {
  return packet_socket(listen_at(abstract_address(abstract_name), "@" + abstract_name));
}

packet_socket packet_socket::listen_in(int folder, const std::string& name) {
  return packet_socket(listen_at(address_in(folder, name), name));
}

packet_socket packet_socket::try_connect_in(int folder, const std::string& name) {
  unique_fd fd = open_socket(SOCK_NONBLOCK);
  const address where = address_in(folder, name);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where.name), where.bytes) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN) return {};
    fail("cannot connect to the socket " + name);
  }
  if (fcntl(fd.get(), F_SETFL, 0) != 0) fail("cannot have a socket wait");
  return packet_socket(std::move(fd));
}

packet_socket packet_socket::connect(const std::string& abstract_name, std::chrono::seconds limit) {
  unique_fd fd = open_socket(0);
  limit_sending(fd.get(), limit);
  const address where = abstract_address(abstract_name);
  int result = 0;
  do result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where.name), where.bytes);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno == EAGAIN) errno = ETIMEDOUT;
  if (result != 0) fail("cannot connect to the socket @" + abstract_name);
  limit_sending(fd.get(), std::chrono::seconds(0));
  return packet_socket(std::move(fd));
}

packet_socket packet_socket::accept() {
  const int fd = ::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) return packet_socket(unique_fd(fd));
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return {};
  fail("cannot accept a connection");
}

void packet_socket::send(std::span<const std::byte> bytes, std::span<const int> fds, bool wait) const {
  if (bytes.size() > most_packet_bytes || fds.size() > most_packet_fds)
    throw std::length_error("a bootstrap message is too long");
  control_buffer control;
  iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};  // sendmsg() does not write to it
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
  while (sent < 0 && errno == EINTR);
  if (sent < 0) fail("cannot send a bootstrap message");
}

packet packet_socket::receive(bool wait) const {
  control_buffer control;
  packet received;
  // A peer that ended without reading all that we sent is reported once, before what it had sent itself.
  const auto again = [] { return errno == EINTR || errno == ECONNRESET; };
  // As long as it is, not as it may be: small processes keep what they touched once.
  ssize_t bytes = 0;
  do bytes = ::recv(fd_.get(), nullptr, 0, MSG_PEEK | MSG_TRUNC | (wait ? 0 : MSG_DONTWAIT));
  while (bytes < 0 && again());
  if (bytes < 0 && errno == EAGAIN) return received;
  if (bytes < 0) fail("cannot receive a bootstrap message");
  if (bytes <= 0) {  // we never send empty messages
    received.what = packet::state::closed;
    return received;
  }
  received.bytes.resize(std::min(static_cast<std::size_t>(bytes), most_packet_bytes));
  iovec data{received.bytes.data(), received.bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t length = 0;
  do length = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  while (length < 0 && again());
  if (length < 0) fail("cannot receive a bootstrap message");
  received.bytes.resize(static_cast<std::size_t>(length));
  received.fds = take_fds(message);
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    throw std::length_error(
        "file descriptors were lost in a bootstrap message: the limit of open files (ulimit -n) is too low");
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) throw std::length_error("a bootstrap message was cut off");
  received.what = packet::state::message;
  return received;
}

packet packet_socket::receive_until(std::chrono::steady_clock::time_point until) const {
  pollfd waiting{fd_.get(), POLLIN, 0};
  while (true) {
    using std::chrono::nanoseconds;
    const auto left = std::chrono::duration_cast<nanoseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return receive(false);
    const timespec limit{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    const int ready = ppoll(&waiting, 1, &limit, nullptr);
    if (ready > 0) return receive();
    if (ready < 0 && errno != EINTR) fail("cannot wait for a bootstrap message");
  }
}

pid_t packet_socket::peer_pid() const { return credentials(fd_.get()).pid; }
uid_t packet_socket::peer_user() const { return credentials(fd_.get()).uid; }

}  // namespace tri::os
