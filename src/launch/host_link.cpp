#include "launch/host_link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "boot/bootstrap_messages.hpp"

namespace tri::launch {
namespace {

constexpr std::uint32_t most_frame_bytes = 16u << 20;
constexpr std::size_t most_chatter_bytes = 1u << 20;  // of a login
constexpr std::string_view launcher_word = "trireme-launcher ";
constexpr std::string_view agent_word = "trireme-agent ";

struct frame_header {
  std::uint32_t bytes;  // of the frame, this header included
  std::uint16_t kind;
  std::uint16_t words;
  std::int32_t process;
  std::uint32_t text_bytes;
  std::int64_t number;
};
static_assert(sizeof(frame_header) == 24);

void append_length(std::string& to, std::size_t length) {
  const auto value = static_cast<std::uint32_t>(length);
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void make_non_blocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

void check_version(std::string_view text, const char* who) {
  int version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error == std::errc() && end == text.data() + text.size() && version == link_version) return;
  throw boot::protocol_error(fmt::format(
      "{} speaks version '{}' of the protocol between hosts instead of {}; install the same version of Trireme on both",
      who, text, link_version));
}

}  // namespace

std::string encode_frame(const link_message& message) {
  std::string body = message.text;
  for (const std::string& each : message.words) {
    append_length(body, each.size());
    body += each;
  }
  if (body.size() > most_frame_bytes - sizeof(frame_header) || message.words.size() > 65535)
    throw boot::protocol_error(fmt::format("{} bytes are too much for a message between hosts", body.size()));
  const frame_header header{static_cast<std::uint32_t>(sizeof(frame_header) + body.size()),
                            static_cast<std::uint16_t>(message.kind),
                            static_cast<std::uint16_t>(message.words.size()),
                            message.process,
                            static_cast<std::uint32_t>(message.text.size()),
                            message.number};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

std::optional<link_message> take_frame(std::string& bytes) {
  frame_header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.bytes < sizeof header || header.bytes > most_frame_bytes ||
      header.text_bytes > header.bytes - sizeof header ||
      header.kind > static_cast<std::uint16_t>(link_kind::heartbeat)) {
    throw boot::protocol_error(
        fmt::format("a message between hosts of kind {} says that it has {} bytes, {} of them text", header.kind,
                    header.bytes, header.text_bytes));
  }
  if (bytes.size() < header.bytes) return std::nullopt;
  link_message message;
  message.kind = static_cast<link_kind>(header.kind);
  message.process = header.process;
  message.number = header.number;
  std::string_view rest = std::string_view(bytes).substr(sizeof header, header.bytes - sizeof header);
  message.text = rest.substr(0, header.text_bytes);
  rest.remove_prefix(header.text_bytes);
  for (int i = 0; i < header.words; ++i) {
    std::uint32_t length = 0;
    if (rest.size() >= sizeof length) std::memcpy(&length, rest.data(), sizeof length);
    if (rest.size() < sizeof length || length > rest.size() - sizeof length)
      throw boot::protocol_error("a word in a message between hosts is cut off");
    message.words.emplace_back(rest.substr(sizeof length, length));
    rest.remove_prefix(sizeof length + length);
  }
  if (!rest.empty()) throw boot::protocol_error("a message between hosts is longer than its header says");
  bytes.erase(0, header.bytes);
  return message;
}

std::string greeting_of_launcher(const std::string& token) {
  return fmt::format("{}{} {}\n", launcher_word, link_version, token);
}

std::string greeting_of_agent(const std::string& token) {
  return fmt::format("{}{} {}\n", agent_word, link_version, token);
}

std::string token_of_greeting(std::string_view line) {
  const std::size_t blank = line.rfind(' ');
  if (!line.starts_with(launcher_word) || blank < launcher_word.size())
    throw boot::protocol_error("no launcher is at the other end; `trireme run --hosts` starts the agent");
  check_version(line.substr(launcher_word.size(), blank - launcher_word.size()), "the launcher");
  return std::string(line.substr(blank + 1));
}

bool take_agent_greeting(std::string& bytes, const std::string& token) {
  const std::string ending = " " + token + "\n";
  const std::size_t found = bytes.find(ending);
  if (found == std::string::npos) {
    if (bytes.size() > most_chatter_bytes)
      throw boot::protocol_error("the login prints without end, and no agent answers");
    return false;
  }
  const std::size_t begin = bytes.rfind(agent_word, found);
  if (begin == std::string::npos) throw boot::protocol_error("no agent answers");
  check_version(std::string_view(bytes).substr(begin + agent_word.size(), found - begin - agent_word.size()),
                "the agent");
  bytes.erase(0, found + ending.size());
  return true;
}

host_link::host_link(os::unique_fd in, os::unique_fd out) : in_(std::move(in)), out_(std::move(out)) {
  make_non_blocking(in_.get());
  make_non_blocking(out_.get());
}

void host_link::send_raw(std::string_view bytes) {
  unsent_ += bytes;
  flush();
}

void host_link::flush() {
  std::size_t sent = 0;
  while (out_ && sent < unsent_.size()) {
    const ssize_t length = write(out_.get(), unsent_.data() + sent, unsent_.size() - sent);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) break;
    if (length < 0) {  // the reader is gone, which receive() will detect
      unsent_.clear();
      return;
    }
    sent += static_cast<std::size_t>(length);
  }
  unsent_.erase(0, sent);
}

bool host_link::receive() {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t length = read(in_.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) return true;
    if (length <= 0) return false;
    received_.append(buffer.data(), static_cast<std::size_t>(length));
    if (received_.size() > most_frame_bytes) return true;  // some of it is a whole message
  }
}

void host_link::watch(std::vector<pollfd>& watched) const {
  watched.push_back({in_.get(), POLLIN, 0});
  if (!unsent_.empty() && out_) watched.push_back({out_.get(), POLLOUT, 0});
}

}  // namespace tri::launch
