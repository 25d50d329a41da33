#include "sched/remote/wire_message.hpp"

#include <fmt/format.h>

#include "sched/remote/host_tree.hpp"

namespace tri::sched {
namespace {

struct field {
  const char* name;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;

  bool is_wrong() const { return value < least || value > most; }
  std::string text() const {
    if (least == most) return fmt::format("its field '{}' is {}, which must be {}", name, value, least);
    return fmt::format("its field '{}' is {}, which must be {} to {}", name, value, least, most);
  }
};

field destination_of(const wire_message_rules& rules, const wire_message& message) {
  field found = {.name = "destination", .value = message.destination, .least = 0, .most = 0};
  switch (message.to) {
    case reach::one_pe:
      found.least = rules.first_pe;
      found.most = rules.first_pe + rules.own_pes - 1;
      break;
    case reach::any_pe_of_process:
      found.least = found.most = rules.process;
      break;
    case reach::all_pes_of_hosts:
      found.most = rules.hosts * host_tree::rotations(static_cast<int>(rules.hosts)) - 1;
      break;
    case reach::creation:
    case reach::creation_globally_visible:
      found.most = rules.hosts - 1;
      break;
    case reach::creation_acknowledged:  // to no PE in particular
      break;
  }
  return found;
}

template <class Enum>
constexpr std::int64_t number_of(Enum value) {
  return static_cast<std::uint8_t>(value);
}

// Before its length is known.
std::string fault_of_creations(const wire_message_rules& rules, const wire_message& message) {
  if ((message.flags & wire_message::names_creations) == 0) return {};
  if (message.to >= reach::creation) return "its field 'flags' says that it names creations, but it is about one";
  const field makers = {.name = "hosts of creations",
                        .value = static_cast<std::int64_t>(message.named_makers()),
                        .least = 1,
                        .most = known_creations::most_makers};
  if (makers.is_wrong()) return makers.text();
  const known_creations known = message.known();
  for (std::uint32_t i = 0; i < known.makers; ++i) {
    const field host = {.name = "host of creations", .value = known.maker[i].host, .least = 0, .most = rules.hosts - 1};
    if (host.is_wrong()) return host.text();
  }
  return {};
}

}  // namespace

std::string decode_wire_message(const wire_message_rules& rules, std::span<const std::byte> header,
                                std::size_t body_bytes, wire_message& message) {
  const auto header_bytes = static_cast<std::int64_t>(header.size());
  const field length = {
      .name = "bytes of the header", .value = header_bytes, .least = wire_message::fixed_bytes, .most = sizeof message};
  if (length.is_wrong()) {
    message.handler = static_cast<std::uint32_t>(rules.handlers);  // unknown
    return length.text();
  }
  message = {};
  std::memcpy(static_cast<void*>(&message), header.data(), header.size());

  // Two bits are of messages inside a host.
  constexpr int every_flag = envelope::has_priority | envelope::is_immediate | envelope::is_backlog |
                             wire_message::is_traced | wire_message::names_creations | wire_message::is_answer;
  const bool is_direct = message.kind == payload_kind::direct;
  const auto body = is_direct ? 0 : static_cast<std::int64_t>(body_bytes);
  const field fields[] = {{"to", number_of(message.to), 0, number_of(reach::creation_globally_visible)},
                          {"kind", number_of(message.kind), 0, number_of(payload_kind::serialized)},
                          {"handler", message.handler, 0, static_cast<std::int64_t>(rules.handlers) - 1},
                          {"source", message.source, 0, rules.pes - 1},
                          {"bytes", message.bytes, 0, is_direct ? std::int64_t{inline_payload_bytes} : 0},
                          {"block_bytes", static_cast<std::int64_t>(message.block_bytes), body, body},
                          {"bytes of the body", static_cast<std::int64_t>(body_bytes), body, body},
                          destination_of(rules, message)};
  for (const field& each : fields)
    if (each.is_wrong()) [[unlikely]]
      return each.text();
  if ((message.flags & ~every_flag) != 0)
    return fmt::format("its field 'flags' is {}, with bits that mean nothing on the wire", message.flags);
  if (message.kind == payload_kind::objects)
    return "its field 'kind' says that its arguments are objects of another process";
  if (std::string fault = fault_of_creations(rules, message); !fault.empty()) return fault;
  const auto used = static_cast<std::int64_t>(message.used_bytes());
  const field exact = {.name = "bytes of the header", .value = header_bytes, .least = used, .most = used};
  if (exact.is_wrong()) return exact.text();
  if ((message.flags & wire_message::is_answer) != 0 && message.to != reach::one_pe)
    return "its field 'flags' says that it is an answer, but it does not go to one PE";
  if (is_direct && (message.flags & envelope::has_priority) != 0)
    return "its field 'flags' says that it has a priority, but its arguments have no block";
  // An acknowledgement of a creation, or the notification of one, runs nothing.
  if (message.to >= reach::creation_acknowledged || rules.forms.empty()) return {};
  return fault_of_arguments(rules.forms[message.handler], message.kind,
                            is_direct ? std::uint64_t{message.bytes} : message.block_bytes);
}

}  // namespace tri::sched
