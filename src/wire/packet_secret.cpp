#include "wire/packet_secret.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <type_traits>

namespace tri::wire {
namespace {

// Identifies compatible programs. Changes with every change of the packet format.
constexpr std::array<char, 4> address_mark = {'T', 'R', 'P', '1'};

struct address_head {
  std::array<char, 4> mark = address_mark;
  std::uint32_t has_checks = 0;
  packet_secret secret;
};
static_assert(sizeof(address_head) == 48 && std::is_trivially_copyable_v<address_head>, "sent as it is");

}  // namespace

packet_secret packet_secret::make() {
  packet_secret made;
  const auto fill = [](void* place, std::size_t bytes) {
    if (getrandom(place, bytes, 0) != static_cast<ssize_t>(bytes))
      throw std::system_error(errno, std::generic_category(), "the system gives no random bytes");
  };
  fill(&made.tag, sizeof made.tag);
  fill(made.key.data(), made.key.size());
  return made;
}

std::vector<std::byte> encode_address(const packet_secret& secret, bool has_checks,
                                      std::span<const std::byte> of_conduit) {
  const address_head head{.has_checks = has_checks, .secret = secret};
  std::vector<std::byte> bytes(sizeof head + of_conduit.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!of_conduit.empty()) std::memcpy(bytes.data() + sizeof head, of_conduit.data(), of_conduit.size());
  return bytes;
}

port_address decode_address(peer_number from, std::span<const std::byte> bytes) {
  address_head head;
  if (bytes.size() >= sizeof head) std::memcpy(static_cast<void*>(&head), bytes.data(), sizeof head);
  if (bytes.size() < sizeof head || head.mark != address_mark || head.has_checks > 1)
    throw std::runtime_error(
        fmt::format("what process {} gives as its address is none of a port, or of another version of the runtime: all "
                    "processes of a job must run the same build of the program",
                    from));
  return {.secret = head.secret,
          .has_checks = head.has_checks == 1,
          .of_conduit = {bytes.begin() + sizeof head, bytes.end()}};
}

}  // namespace tri::wire
