#include "wire/packet_decoder.hpp"

#include <fmt/format.h>

#include <limits>

#include "wire/port.hpp"

namespace tri::wire {
namespace {

constexpr std::uint64_t no_most = std::numeric_limits<std::uint64_t>::max();

template <class Part>
bool take(std::span<const std::byte>& bytes, Part& part) {
  if (bytes.size() < sizeof part) return false;
  std::memcpy(&part, bytes.data(), sizeof part);
  bytes = bytes.subspan(sizeof part);
  return true;
}

// Reports a value that is not between the two others; false then.
struct checker {
  packet_fault& fault;
  bool holds(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) const {
    if (value >= least && value <= most) return true;
    fault.field = field;
    fault.value = value;
    fault.least = least;
    fault.most = most;
    return false;
  }
};

// next_message(), which reads them afterwards, checks nothing.
bool are_whole(std::span<const std::byte> messages, unsigned count, const checker& check) {
  for (unsigned i = 0; i < count; ++i) {
    message_head head;
    if (!take(messages, head)) return check.holds("bytes left for messages", messages.size(), sizeof head, no_most);
    if (!check.holds("header_bytes", head.header_bytes, 0, header_limit)) return false;
    if (!check.holds("header_bytes", head.header_bytes, 0, messages.size())) return false;
    if (!check.holds("body_bytes", head.body_bytes, 0, messages.size() - head.header_bytes)) return false;
    messages = messages.subspan(std::size_t{head.header_bytes} + head.body_bytes);
  }
  return check.holds("bytes behind the last message", messages.size(), 0, 0);
}

bool is_credit(std::span<const std::byte> rest, flow::credit_control& note, const checker& check) {
  if (!check.holds("bytes of a credit message", rest.size(), sizeof note, sizeof note)) return false;
  std::memcpy(&note, rest.data(), sizeof note);
  return check.holds("credit note", static_cast<std::uint64_t>(note.what), 0,
                     static_cast<std::uint64_t>(flow::credit_control::kind::returned)) &&
         check.holds("more", note.more, 0, flow::memory_credit::most_more);
}

}  // namespace

std::string packet_fault::text() const {
  const std::string found = fmt::format("its field '{}' is {}", field, value);
  if (least == most) return fmt::format("{}, which must be {}", found, least);
  if (most == no_most) return fmt::format("{}, which must be at least {}", found, least);
  return fmt::format("{}, which must be {} to {}", found, least, most);
}

packet_verdict decode_packet(const packet_rules& rules, std::span<const std::byte> header,
                             std::span<const std::byte> body, std::optional<std::size_t> announced_bytes,
                             packet_view& view, packet_fault& fault) {
  const bool is_alone = !header.empty();  // one message
  std::span<const std::byte> rest = is_alone ? header : body;
  packet_head& head = view.head;
  // A comparison of one word is constant-time.
  if (!take(rest, head) || head.tag != rules.tag) return packet_verdict::foreign;
  if (rules.key != nullptr) {
    check_value found;
    if (!take(rest, found) ||
        !are_equal(found, check_of_packet(*rules.key, head, rest, is_alone ? body : std::span<const std::byte>{},
                                          announced_bytes)))
      return packet_verdict::unchecked;
  }
  const checker check{fault};
  const auto verdict_of = [](bool is_valid) { return is_valid ? packet_verdict::valid : packet_verdict::malformed; };
  fault.from.reset();
  if (!check.holds("from", head.from, 0, rules.peers - 1)) return packet_verdict::malformed;
  if (head.from == rules.self) return verdict_of(check.holds("from", head.from, rules.peers, no_most));
  fault.from = head.from;
  const auto kind = static_cast<std::uint64_t>(head.kind);
  constexpr auto alone = static_cast<std::uint64_t>(packet_kind::one_message);
  if (is_alone ? !check.holds("kind", kind, alone, alone)
               : !check.holds("kind", kind, 0, static_cast<std::uint64_t>(packet_kind::answer)))
    return packet_verdict::malformed;
  switch (head.kind) {
    case packet_kind::one_message:
      if (!is_alone) return verdict_of(check.holds("kind", kind, 0, 0));
      if (announced_bytes && rules.key != nullptr && !take(rest, view.check_of_body))
        return verdict_of(check.holds("bytes of the header", rest.size(), sizeof view.check_of_body, no_most));
      view.header = rest;
      view.body = body;
      return verdict_of(check.holds("bytes of the header", rest.size(), 0, header_limit) &&
                        (!announced_bytes || check.holds("bytes announced", *announced_bytes, 1, no_most)));
    case packet_kind::short_messages:
      view.body = rest;
      return verdict_of(check.holds("messages", head.messages, 1, 65535) && are_whole(rest, head.messages, check));
    case packet_kind::credit:
      return verdict_of(check.holds("messages", head.messages, 0, 0) && is_credit(rest, view.note, check));
    case packet_kind::disconnect:
    case packet_kind::heartbeat:
    case packet_kind::answer:
      view.body = rest;
      return verdict_of(check.holds("messages", head.messages, 0, 0) && are_whole(rest, 0, check));
  }
  return packet_verdict::malformed;
}

}  // namespace tri::wire
