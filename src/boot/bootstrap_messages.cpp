#include "boot/bootstrap_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "boot/membership.hpp"
#include "os/packet_socket.hpp"

namespace tri::boot {
namespace {

constexpr std::uint32_t bootstrap_magic = 0x74726962;  // "trib"

struct message_header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t kind;  // index in bootstrap_message
  std::uint32_t body_bytes;
  std::uint32_t count;  // entries of a peers message, 0 otherwise
};
static_assert(sizeof(message_header) == 16);
static_assert(sizeof(hello_message) == 24 && std::is_trivially_copyable_v<hello_message>);
static_assert(sizeof(peer_entry) == 24 && std::is_trivially_copyable_v<peer_entry>);
static_assert(sizeof(barrier_message) == 8 && sizeof(released_message) == 8 && sizeof(left_message) == 4);
static_assert(sizeof(wanted_address_message) == 8 && sizeof(address_message::about) == 16);

constexpr std::array<const char*, std::variant_size_v<bootstrap_message>> names{
    "hello",    "rejected", "peers",  "peers taken",       "start",          "barrier",
    "released", "left",     "failed", "published address", "wanted address", "address"};

constexpr std::size_t most_text_bytes = os::most_packet_bytes - sizeof(message_header);

template <class Message>
concept text_message = requires(Message message) { message.text; };
template <class Message>
concept address_carrier = requires(Message message) { message.address; };

// The body of a message, with its number of entries, if any, and the fields before its data.
struct body {
  const void* data;
  std::size_t bytes;
  std::uint32_t count;
  const void* front = nullptr;
  std::size_t front_bytes = 0;
};

template <class Message>
body body_of(const Message& message) {
  if constexpr (text_message<Message>) {
    return {message.text.data(), std::min(message.text.size(), most_text_bytes), 0};
  } else if constexpr (std::is_same_v<Message, peers_message>) {
    return {message.entries.data(), message.entries.size() * sizeof(peer_entry),
            static_cast<std::uint32_t>(message.entries.size())};
  } else if constexpr (std::is_same_v<Message, address_message>) {
    return {message.address.data(), message.address.size(), 0, &message.about, sizeof message.about};
  } else if constexpr (address_carrier<Message>) {
    return {message.address.data(), message.address.size(), 0};
  } else if constexpr (std::is_empty_v<Message>) {
    return {nullptr, 0, 0};
  } else {
    return {&message, sizeof message, 0};
  }
}

void check_length(std::size_t found, std::size_t expected, const char* name) {
  if (found != expected)
    throw protocol_error(fmt::format("the '{}' message has {} bytes instead of {}", name, found, expected));
}

std::vector<std::byte> read_address(std::span<const std::byte> bytes) {
  if (bytes.size() > most_endpoint_address_bytes)
    throw protocol_error(fmt::format("a network address has {} bytes; at most {} are allowed", bytes.size(),
                                     most_endpoint_address_bytes));
  return {bytes.begin(), bytes.end()};
}

template <class Message>
Message read_body(std::span<const std::byte> bytes, std::uint32_t count, const char* name) {
  Message message;
  if constexpr (text_message<Message>) {
    message.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } else if constexpr (std::is_same_v<Message, peers_message>) {
    if (count == 0 || count > most_entries_of_a_message)
      throw protocol_error(fmt::format("a 'peers' message has {} entries", count));
    check_length(bytes.size(), count * sizeof(peer_entry), name);
    message.entries.resize(count);
    std::memcpy(message.entries.data(), bytes.data(), bytes.size());
  } else if constexpr (std::is_same_v<Message, address_message>) {
    if (bytes.size() < sizeof message.about) check_length(bytes.size(), sizeof message.about, name);
    std::memcpy(&message.about, bytes.data(), sizeof message.about);
    message.address = read_address(bytes.subspan(sizeof message.about));
  } else if constexpr (address_carrier<Message>) {
    message.address = read_address(bytes);
  } else if constexpr (std::is_empty_v<Message>) {
    check_length(bytes.size(), 0, name);
  } else {
    check_length(bytes.size(), sizeof message, name);
    std::memcpy(&message, bytes.data(), sizeof message);
  }
  return message;
}

template <std::size_t kind = 0>
bootstrap_message read_kind(std::size_t wanted, std::span<const std::byte> bytes, std::uint32_t count) {
  if constexpr (kind < std::variant_size_v<bootstrap_message>) {
    if (wanted == kind)
      return read_body<std::variant_alternative_t<kind, bootstrap_message>>(bytes, count, names[kind]);
    return read_kind<kind + 1>(wanted, bytes, count);
  } else {
    throw protocol_error(fmt::format("unknown kind {} of bootstrap message", wanted));
  }
}

}  // namespace

std::vector<std::byte> encode(const bootstrap_message& message) {
  const body content = std::visit([](const auto& each) { return body_of(each); }, message);
  const message_header header{bootstrap_magic, bootstrap_version, static_cast<std::uint16_t>(message.index()),
                              static_cast<std::uint32_t>(content.front_bytes + content.bytes), content.count};
  std::vector<std::byte> bytes(sizeof header + content.front_bytes + content.bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  if (content.front_bytes > 0) std::memcpy(bytes.data() + sizeof header, content.front, content.front_bytes);
  if (content.bytes > 0) std::memcpy(bytes.data() + sizeof header + content.front_bytes, content.data, content.bytes);
  return bytes;
}

bootstrap_message decode(std::span<const std::byte> bytes) {
  message_header header;
  if (bytes.size() < sizeof header)
    throw protocol_error(fmt::format("a message of {} bytes has no header", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != bootstrap_magic) throw protocol_error(fmt::format("a message starts with {:#x}", header.magic));
  if (header.version != bootstrap_version) {
    throw protocol_error(fmt::format(
        "bootstrap protocol version {} instead of {}: launcher and program come from different versions of Trireme",
        header.version, bootstrap_version));
  }
  if (header.body_bytes != bytes.size() - sizeof header) {
    throw protocol_error(fmt::format("a message of {} bytes announces a body of {}", bytes.size(), header.body_bytes));
  }
  return read_kind(header.kind, bytes.subspan(sizeof header), header.count);
}

const char* name_of(const bootstrap_message& message) { return names[message.index()]; }

std::string difference_between(const hello_message& one, const hello_message& other, const std::string& name_of_other) {
  if (one.fingerprint != other.fingerprint) {
    return fmt::format(
        "runs a different build of the program than {} (fingerprints {:016x} and {:016x}); start the same program file "
        "everywhere",
        name_of_other, one.fingerprint, other.fingerprint);
  }
  if (one.pes != other.pes)
    return fmt::format("has {} PEs, but {} has {}; all must have the same", one.pes, name_of_other, other.pes);
  if (one.hosts != other.hosts) {
    return fmt::format("has hosts={}, but {} has hosts={}; all must have the same", one.hosts, name_of_other,
                       other.hosts);
  }
  return {};
}

}  // namespace tri::boot
