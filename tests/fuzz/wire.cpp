// What comes over the wire: a port takes packets from a transport that gives it the input, and its user reads the
// messages as the scheduler does. The first byte selects: a port ('p'), a message ('m'), an address of a port ('a').
//
// Of a port, the second byte says what it was opened with; then come events, each a byte and what belongs to it. The
// tag of the port is in the seeds. Check values of packets are made right where the event says so: they find untrusted
// peers, not what somebody writes who knows the secret.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "fuzz/fuzz_target.hpp"
#include "sched/remote/host_tree.hpp"
#include "sched/remote/wire_message.hpp"
#include "wire/conduit_port.hpp"
#include "wire/packet_secret.hpp"

namespace tri::fuzz {
namespace {

using namespace wire;

constexpr peer_number receiver = 0;
constexpr peer_number peers = 4;
constexpr packet_secret secret_of_all = {.tag = 0x7261'6567'6174'2121, .key = {std::byte{1}, std::byte{2}}};
constexpr std::size_t largest_place = 1 << 16;
constexpr std::uint64_t memory = 8192;

// Second byte of a port's input.
constexpr unsigned char with_memory_limit = 1;
constexpr unsigned char with_checks = 2;
constexpr unsigned char without_memory = 4;

enum class event : unsigned char {
  packet,            // u16 bytes of the header, u16 of the body, both
  announced,         // u16 bytes of the header, u32 of the body that is still at its sender, the header
  signed_packet,     // the same, with the right check value
  signed_announced,  // the same
  filled,            // u8 which of the accepted bodies, u8 whether whole, u16 bytes that came, these
  lost,              // u8 peer
  heartbeat,
  send,        // u8 peer, u16 bytes
  given_back,  // the user has used all that it has
  drop_waiting,
};
constexpr unsigned char events = static_cast<unsigned char>(event::drop_waiting) + 1;

class input_bytes {
 public:
  explicit input_bytes(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  /// Zeros where the input has ended.
  template <class Number>
  Number number() {
    Number value = 0;
    const std::string_view bytes = text(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::string_view text(std::size_t count) {
    const std::string_view found = rest_.substr(0, count);
    rest_.remove_prefix(found.size());
    return found;
  }

 private:
  std::string_view rest_;
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <class Number>
void add(std::string& to, Number value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Of a packet: a head, a check value, and the rest, with the body apart where there is a header.
void sign(std::string& header, std::string& body, std::optional<std::size_t> announced_bytes) {
  std::string& first = header.empty() ? body : header;
  packet_head head;
  if (first.size() < sizeof head + sizeof(check_value)) return;
  std::memcpy(&head, first.data(), sizeof head);
  const auto rest = bytes_of(std::string_view(first).substr(sizeof head + sizeof(check_value)));
  const check_value value = check_of_packet(
      secret_of_all.key, head, rest, header.empty() ? std::span<const std::byte>{} : bytes_of(body), announced_bytes);
  std::memcpy(first.data() + sizeof head, value.data(), value.size());
}

// What a conduit shares with its test: bodies whose places wait for bytes, and what the port has sent.
struct transport {
  struct accepted_body {
    std::byte* place;
    std::size_t bytes;
    packet_token token;
  };
  struct sent_packet {
    std::string header, body;
    bool is_announced;
  };
  std::set<announcement> offered;  // and neither accepted nor refused yet
  std::uintptr_t announcements = 0;
  std::vector<accepted_body> accepted;
  std::vector<sent_packet> sent;
  std::function<void(conduit_events&)> next;  // what the next progress() does
};

class scripted_conduit {
 public:
  explicit scripted_conduit(transport& script) : script_(script) {}
  std::span<const std::byte> address() const { return {}; }
  void connect(peer_number, std::span<const std::byte>) {}
  peer_state state(peer_number) const { return peer_state::connected; }
  send_result send(peer_number, sending how, std::span<const std::byte> header, std::span<const std::byte> body,
                   packet_token) {
    script_.sent.push_back({text_of(header), text_of(body), how == sending::announced});
    return send_result::done;
  }
  void accept(announcement body, void* place, std::size_t bytes, packet_token token) {
    expect(script_.offered.erase(body) == 1, "only a body that was announced is accepted, and once");
    script_.accepted.push_back({static_cast<std::byte*>(place), bytes, token});
  }
  void refuse(announcement body) {
    expect(script_.offered.erase(body) == 1, "only a body that was announced is refused, and once");
  }
  bool progress(conduit_events& told) {
    if (!script_.next) return false;
    std::exchange(script_.next, nullptr)(told);
    return true;
  }
  int wake_descriptor() const { return -1; }
  static constexpr bool reports_sends = false;
  bool prepare_sleep() { return false; }
  std::int64_t longest_sleep_ns() const { return -1; }
  void wake() {}
  bool close(conduit_events& told, bool) {
    for (const transport::accepted_body& each : std::exchange(script_.accepted, {})) told.filled(each.token, false);
    return true;
  }

 private:
  static std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  transport& script_;
};
static_assert(conduit<scripted_conduit>);

// True if it is one that a process of the job may send.
bool read_message(std::span<const std::byte> header, std::size_t body_bytes) {
  using namespace sched;
  using content = message_form::content;
  static const std::array<message_form, 8> forms = {{{},
                                                     {content::plain, 1},
                                                     {content::plain, 8},
                                                     {content::plain, 77},
                                                     {content::archive},
                                                     {content::stays_in_host},
                                                     {},
                                                     {}}};
  const wire_message_rules rules = {
      .handlers = forms.size(), .forms = forms, .pes = 8, .hosts = 4, .process = receiver, .first_pe = 0, .own_pes = 2};
  wire_message message;
  if (!decode_wire_message(rules, header, body_bytes, message).empty()) return false;
  expect(message.used_bytes() == header.size(), "a message is as long as it says");
  expect(message.handler < rules.handlers && message.source < rules.pes, "handler and source of a message exist");
  expect(message.kind == payload_kind::direct ? body_bytes == 0 : message.block_bytes == body_bytes,
         "a block is as long as it says");
  const message_form& form = forms[message.handler];
  const std::uint64_t bytes = message.kind == payload_kind::direct ? message.bytes : message.block_bytes;
  if (message.to < reach::creation_acknowledged && form.what == content::plain)
    expect(bytes == form.bytes && message.kind != payload_kind::serialized, "plain arguments are as long as they are");
  if (message.to == reach::one_pe) expect(message.destination >= 0 && message.destination < 2, "the PE is one of ours");
  constexpr int hosts = 4;
  if (goes_to_all_pes(message.to))
    host_tree(hosts, message.destination % hosts, message.destination / hosts).for_each_child(0, [&](int child) {
      expect(child > 0 && child < hosts, "a child of the tree is a host");
    });
  return true;
}

// Owns the places of the bodies: each arrives or is abandoned, once.
class listener final : public port_user {
 public:
  explicit listener(peer_number self) : self_(self) {}
  ~listener() { expect(places_.empty(), "each place of a body has arrived or was abandoned"); }
  void* memory_for(peer_number from, std::span<const std::byte> header, std::size_t bytes) override {
    check(from, header);
    expect(bytes != 0, "a place has room");
    if (bytes > largest_place) return nullptr;
    auto made = std::make_unique<std::byte[]>(bytes);
    void* const place = made.get();
    places_.emplace(place, std::move(made));
    return place;
  }
  void arrived(peer_number from, std::span<const std::byte> header, void* body, std::size_t body_bytes) override {
    check(from, header);
    expect((body == nullptr) == (body_bytes == 0), "a body has a place if it has bytes");
    refused_ |= !read_message(header, body_bytes);
    if (body == nullptr) return;
    static_cast<std::byte*>(body)[body_bytes - 1] = std::byte{1};  // all of it is ours
    abandoned(body);
  }
  void abandoned(void* place) override { expect(places_.erase(place) == 1, "a place is given back once"); }
  void peer_failed(peer_number peer, const std::string& why) override {
    expect(peer != self_ && peer < peers && !why.empty(), "what fails is a peer, and why is said");
    expect(failed_.insert(peer).second, "a peer fails once");
    refused_ = true;
  }
  std::uint64_t memory_given_back() override { return given_back_; }
  void give_back(std::uint64_t in_use) { given_back_ += in_use; }
  bool has_refused() const { return refused_; }

 private:
  void check(peer_number from, std::span<const std::byte> header) const {
    expect(from != self_ && from < peers, "a message is from a peer");
    expect(header.size() <= header_limit, "a header is not too long");
  }

  const peer_number self_;
  std::map<void*, std::unique_ptr<std::byte[]>> places_;
  std::set<peer_number> failed_;
  std::uint64_t given_back_ = 0;
  bool refused_ = false;
};

port_options options_of(unsigned char flags) {
  port_options options;
  options.short_limit = 64;
  options.eager_limit = 256;
  options.coalesce_messages = 2;
  options.coalesce_us = 1'000'000;  // never by time, which would not repeat
  options.packet_bytes = 512;
  if ((flags & with_memory_limit) != 0) options.message_memory = (flags & without_memory) == 0 ? memory : 0;
  options.heartbeats_until_failed = 3;
  options.secret = secret_of_all;
  options.checks = (flags & with_checks) != 0;
  options.close_timeout_ms = 0;
  return options;
}

std::unique_ptr<port> open(peer_number self, transport& script, port_user& user, unsigned char flags) {
  const port_options options = options_of(flags);
  const auto address_of_peer = [has_checks = options.checks](peer_number) {
    return encode_address(secret_of_all, has_checks, {});
  };
  return std::make_unique<conduit_port<scripted_conduit>>(self, peers, user, address_of_peer, options, script);
}

// A message to PE 0 with one argument of 8 bytes; with a body, that instead.
std::string message_text(std::size_t body_bytes) {
  sched::wire_message message = {};
  message.handler = 7;
  message.source = 3;
  message.kind = body_bytes == 0 ? sched::payload_kind::direct : sched::payload_kind::serialized;
  message.bytes = body_bytes == 0 ? 8 : 0;
  message.block_bytes = body_bytes;
  return {reinterpret_cast<const char*>(&message), message.used_bytes()};
}

void send(port& from, peer_number to, std::size_t body_bytes, std::uint16_t copies = 1) {
  static std::vector<std::byte> body(1 << 16, std::byte{5});
  from.send(to, bytes_of(message_text(body_bytes)), {.block = body.data(), .bytes = body_bytes, .copies = copies});
}

void take_packet(transport& script, input_bytes& input, bool is_signed, bool is_announced) {
  const auto header_bytes = input.number<std::uint16_t>();
  const std::size_t body_bytes = is_announced ? input.number<std::uint32_t>() : input.number<std::uint16_t>();
  std::string header(input.text(header_bytes));
  std::string body(is_announced ? std::string_view() : input.text(body_bytes));
  if (is_signed) sign(header, body, is_announced ? std::optional(body_bytes) : std::nullopt);
  script.next = [=, &script](conduit_events& told) {
    if (!is_announced) return told.packet(bytes_of(header), bytes_of(body));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a word that only the conduit understands
    const auto offer = reinterpret_cast<announcement>(++script.announcements);
    script.offered.insert(offer);
    told.announced(bytes_of(header), body_bytes, offer);
  };
}

void fill(transport& script, input_bytes& input) {
  const auto which = input.number<std::uint8_t>();
  const bool whole = input.number<std::uint8_t>() % 2 == 1;
  const std::string_view came = input.text(input.number<std::uint16_t>());
  if (script.accepted.empty()) return;
  const auto chosen = script.accepted.begin() + static_cast<std::ptrdiff_t>(which % script.accepted.size());
  const transport::accepted_body body = *chosen;
  script.accepted.erase(chosen);
  std::memset(body.place, 0, body.bytes);
  std::memcpy(body.place, came.data(), std::min(came.size(), body.bytes));
  script.next = [=](conduit_events& told) { told.filled(body.token, whole); };
}

// What a port does with these events. False if it refused one of the packets.
bool play(peer_number self, unsigned char flags, std::string_view from, transport& script) {
  listener user(self);
  const std::unique_ptr<port> played = open(self, script, user, flags);
  input_bytes input(from);
  while (!input.empty()) {
    const auto what = static_cast<event>(input.number<unsigned char>() % events);
    switch (what) {
      case event::packet:
      case event::announced:
      case event::signed_packet:
      case event::signed_announced:
        take_packet(script, input, what == event::signed_packet || what == event::signed_announced,
                    what == event::announced || what == event::signed_announced);
        break;
      case event::filled:
        fill(script, input);
        break;
      case event::lost: {
        const peer_number peer = input.number<unsigned char>() % peers;
        if (peer != self)
          script.next = [peer](conduit_events& told) {
            told.peer_failed(peer, "the transport reports that it failed");
          };
        break;
      }
      case event::heartbeat:
        played->heartbeat();
        break;
      case event::send: {
        const peer_number peer = input.number<unsigned char>() % peers;
        const auto bytes = input.number<std::uint16_t>();
        if (peer != self) send(*played, peer, bytes);
        break;
      }
      case event::given_back:
        user.give_back(played->counters().memory_in_use);
        break;
      case event::drop_waiting:
        played->drop_waiting();
        break;
    }
    played->progress();
  }
  const port_counters counts = played->counters();
  return !user.has_refused() && counts.foreign_packets == 0 && counts.unchecked_packets == 0 &&
         counts.repeated_packets == 0;
}

// The packets that a port has sent, as events of another one.
std::string as_events(const std::vector<transport::sent_packet>& packets, bool is_signed) {
  std::string text;
  for (const auto& [header, body, is_announced] : packets) {
    if (!is_announced) {
      add(text, is_signed ? event::signed_packet : event::packet);
      add(text, static_cast<std::uint16_t>(header.size()));
      add(text, static_cast<std::uint16_t>(body.size()));
      text += header + body;
      continue;
    }
    add(text, is_signed ? event::signed_announced : event::announced);
    add(text, static_cast<std::uint16_t>(header.size()));
    add(text, static_cast<std::uint32_t>(body.size()));
    text += header;
    add(text, event::filled);
    text += {0, 1};
    add(text, static_cast<std::uint16_t>(body.size()));
    text += body;
  }
  return text;
}

bool has_check_library() {
  try {
    load_check_library();
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool read_with(char reader, std::string_view input) {
  switch (reader) {
    case 'p': {
      if (input.empty()) return false;
      const auto flags = static_cast<unsigned char>(input[0]);
      if ((flags & with_checks) != 0 && !has_check_library()) return false;
      transport script;
      return play(receiver, flags, input.substr(1), script);
    }
    case 'm': {
      input_bytes bytes(input);
      const auto body_bytes = bytes.number<std::uint32_t>();
      return read_message(bytes_of(input.substr(std::min(input.size(), sizeof body_bytes))), body_bytes);
    }
    case 'a': {
      const port_address found = decode_address(1, bytes_of(input));
      const std::vector<std::byte> again = encode_address(found.secret, found.has_checks, found.of_conduit);
      expect(std::ranges::equal(again, bytes_of(input)), "an address is written as it was read");
      return true;
    }
    default:
      return false;
  }
}

// What peer 1 sends to a port with these options, and what peer 2, in the place of that port, answers to it.
std::vector<std::string> seeds_of_port(unsigned char flags) {
  const bool is_signed = (flags & with_checks) != 0;
  transport of_writer;
  {
    listener user(1);
    const std::unique_ptr<port> writer = open(1, of_writer, user, flags);
    for (const std::size_t bytes : {0U, 8U, 17U, 300U, 100U, 1000U, 0U})
      send(*writer, receiver, bytes, bytes == 17 ? 2 : 1);
    for (int i = 0; i < 2; ++i) writer->heartbeat();  // a third would lose the silent receiver
    send(*writer, receiver, 3000);
    send(*writer, receiver, 20);
  }
  const std::string written = as_events(of_writer.sent, is_signed);
  transport of_answerer;
  play(2, flags, written, of_answerer);
  const std::string answered = as_events(of_answerer.sent, is_signed);
  // What the port does itself. To a third peer: 1 and 2 disconnect in the end, while there may be messages that wait.
  std::string own;
  for (const std::uint16_t bytes : std::initializer_list<std::uint16_t>{1000, 2000}) {
    add(own, event::send);
    add(own, static_cast<unsigned char>(3));
    add(own, bytes);
  }
  const std::string head{'p', static_cast<char>(flags)};
  std::string given_back;
  add(given_back, event::given_back);
  return {head + written, head + own + answered + given_back, head + own + written + given_back + answered};
}

}  // namespace

bool read(std::string_view input) {
  if (input.empty()) return false;
  try {
    return read_with(input[0], input.substr(1));
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> made;
  for (const int flags : {0, +with_memory_limit, with_memory_limit | without_memory, +with_checks})
    if ((flags & with_checks) == 0 || has_check_library())
      for (const std::string& each : seeds_of_port(static_cast<unsigned char>(flags))) made.push_back(each);
  for (const std::uint32_t bytes : {0U, 77U}) {
    std::string message(1, 'm');
    add(message, bytes);
    made.push_back(message.append(message_text(bytes)));
  }
  const std::vector<std::byte> address = encode_address(secret_of_all, true, std::as_bytes(std::span("of a conduit")));
  made.push_back(std::string(1, 'a').append(reinterpret_cast<const char*>(address.data()), address.size()));
  return made;
}

}  // namespace tri::fuzz
