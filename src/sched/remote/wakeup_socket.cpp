#include "sched/remote/wakeup_socket.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace tri::sched {
namespace {

constexpr std::size_t name_bytes = 5;  // hexadecimal digits that the kernel gives, after the zero of the abstract names
constexpr unsigned number_bits = 4 * name_bytes;  // of the name; the other 44 bits are the key
constexpr auto prefix_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path));
constexpr auto address_bytes = static_cast<socklen_t>(prefix_bytes + 1 + name_bytes);

os::unique_fd make_socket() {
  os::unique_fd made(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) throw std::system_error(errno, std::generic_category(), "trireme: cannot open the wakeup socket");
  return made;
}

// The words of a ring as the filter sees them: it reads bytes in network order.
std::uint32_t word_of(std::uint64_t name, std::size_t which) {
  std::uint32_t word = 0;
  std::memcpy(&word, reinterpret_cast<const char*>(&name) + which * sizeof word, sizeof word);
  return ntohl(word);
}

// Lets through what is eight bytes long and equals the name.
void accept_only(int socket, std::uint64_t name) {
  constexpr std::uint32_t everything = ~0U, nothing = 0;
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, sizeof name, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_of(name, 0), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_of(name, 1), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, everything), BPF_STMT(BPF_RET | BPF_K, nothing)};
  const sock_fprog filter{std::size(steps), steps};
  if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
    throw std::system_error(errno, std::generic_category(), "trireme: cannot attach the filter of the wakeup socket");
}

// Linux gives five lower-case hexadecimal digits.
std::uint64_t number_of(const char* name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name, name + name_bytes, number, 16);
  if (error != std::errc() || end != name + name_bytes)
    throw std::runtime_error("trireme: the kernel gave a socket a name of unknown form");
  return number;
}

void write_name(std::uint64_t number, char* name) {
  for (std::size_t digit = name_bytes; digit > 0; --digit, number >>= 4)
    name[digit - 1] = "0123456789abcdef"[number & 15];
}

}  // namespace

wakeup_socket::wakeup_socket() : socket_(make_socket()), name_(0) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), prefix_bytes) != 0)
    throw std::system_error(errno, std::generic_category(), "trireme: cannot bind the wakeup socket");
  socklen_t length = sizeof address;
  getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  if (length != address_bytes) throw std::runtime_error("trireme: the kernel gave a socket a name of unknown form");
  std::uint64_t key = 0;
  while (key >> number_bits == 0)  // so that the whole is never 0
    if (getrandom(&key, sizeof key, 0) != sizeof key)
      throw std::system_error(errno, std::generic_category(), "trireme: no random key for the wakeup socket");
  name_ = key >> number_bits << number_bits | number_of(address.sun_path + 1);
  accept_only(socket_.get(), name_);
}

bool wakeup_socket::sleep(int descriptor, std::int64_t timeout_ns) const {
  pollfd waits[2] = {{socket_.get(), POLLIN, 0}, {descriptor, POLLIN, 0}};
  const timespec limit{static_cast<time_t>(timeout_ns / 1'000'000'000), static_cast<long>(timeout_ns % 1'000'000'000)};
  ppoll(waits, 2, timeout_ns < 0 ? nullptr : &limit, nullptr);
  bool rung = false;
  for (std::uint64_t heard = 0; recv(socket_.get(), &heard, sizeof heard, 0) >= 0;) rung = true;
  return rung;
}

void wakeup_socket::ring(std::uint64_t name) {
  static const os::unique_fd ringer = make_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  write_name(name & ((std::uint64_t{1} << number_bits) - 1), address.sun_path + 1);
  const auto send_from = [&](const os::unique_fd& from) {
    return sendto(from.get(), &name, sizeof name, 0, reinterpret_cast<const sockaddr*>(&address), address_bytes);
  };
  // Rings that are not heard yet count towards the send buffer of the socket that they left, whichever sleeper they are
  // for, so ours may be full although this sleeper was not rung. A new socket has room: if that cannot send either, the
  // sleeper's queue is full, that is, it was rung before. Every other failure means that no thread sleeps any more.
  if (send_from(ringer) < 0 && errno == EAGAIN) send_from(make_socket());
}

}  // namespace tri::sched
