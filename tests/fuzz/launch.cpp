// What processes of a job and launchers say to each other before the job runs: messages of the bootstrap, frames and
// greetings between launcher and agent, records of nodes, lines and values of PMI-1.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "boot/bootstrap_messages.hpp"
#include "boot/kvs/pmi1_protocol.hpp"
#include "boot/node_record.hpp"
#include "fuzz/fuzz_target.hpp"
#include "launch/host_link.hpp"

namespace tri::fuzz {
namespace {

using namespace tri::launch;

void read_bootstrap(std::string_view input) {
  const auto bytes = std::as_bytes(std::span(input));
  const boot::bootstrap_message message = boot::decode(bytes);
  const std::vector<std::byte> again = encode(message);
  expect(again.size() == bytes.size(), "a bootstrap message is written as it was read");
  if (const auto* const hello = std::get_if<boot::hello_message>(&message)) difference_between(*hello, {}, "the other");
}

void read_frames(std::string_view input) {
  std::string bytes(input);
  std::string written;
  while (const auto message = launch::take_frame(bytes)) written += encode_frame(*message);
  expect(written + bytes == input, "frames are written as they were read");
}

// Records of all processes, one after the other.
void read_nodes(std::string_view input) {
  std::vector<boot::node_record> all;
  while (!input.empty()) {
    const std::string_view one = input.substr(0, sizeof(boot::node_record));
    all.push_back(boot::read_node_record(std::as_bytes(std::span(one))));
    input.remove_prefix(one.size());
  }
  const boot::numbering made = number_processes(all);
  expect(made.rank_of_process.size() == all.size(), "each process has a number");
}

// The first byte says in which state the conversation is.
void read_conversation(std::string_view input) {
  if (input.empty()) return;
  boot::pmi1::conversation talk;
  if (input[0] & 1) talk.enter_barrier();
  if (input[0] & 2) talk.ask("get", {{"key", "a"}}, "get_result");
  input.remove_prefix(1);
  while (!input.empty()) {  // in pieces, as a socket gives it
    const std::string_view piece = input.substr(0, 40);
    talk.receive(piece);
    input.remove_prefix(piece.size());
  }
  if (!talk.answered()) return;
  const boot::pmi1::message answer = talk.take_answer();
  answer.check_success();
  boot::pmi1::from_hex(answer.text("value"));
}

// Pieces of a value, one on each line.
void read_value(std::string_view input) {
  boot::pmi1::value_assembler value;
  while (!input.empty() && !value.complete()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    value.add(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  if (!value.complete()) return;
  expect(2 * value.value().size() <= std::size_t{1} << 20, "a value is not longer than what came");
}

void read_with(char reader, std::string_view input) {
  switch (reader) {
    case 'b':
      return read_bootstrap(input);
    case 'f':
      return read_frames(input);
    case 'l':
      launch::token_of_greeting(input);
      return;
    case 'a': {
      std::string bytes(input);
      launch::take_agent_greeting(bytes, "0123456789abcdef");
      return;
    }
    case 'n':
      return read_nodes(input);
    case 'p':
      return read_conversation(input);
    case 'v':
      return read_value(input);
    default:
      throw boot::protocol_error("no reader");
  }
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool read(std::string_view input) {
  if (input.empty()) return false;
  try {
    read_with(input[0], input.substr(1));
    return true;
  } catch (const boot::protocol_error&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  const std::vector<std::byte> address(40, std::byte{7});
  std::vector<std::string> made;
  for (const boot::bootstrap_message& each : std::initializer_list<boot::bootstrap_message>{
           boot::hello_message{.process = 1, .pes = 2, .hosts = 1, .has_arena = 1, .fingerprint = 3},
           boot::rejected_message{"another build"},
           boot::peers_message{{boot::peer_entry{.process = 1}, boot::peer_entry{.process = 2}}},
           boot::peers_taken_message{}, boot::start_message{}, boot::barrier_message{1}, boot::released_message{1},
           boot::left_message{3}, boot::failed_message{"no memory"}, boot::published_address_message{address},
           boot::wanted_address_message{1, 2}, boot::address_message{{1, 2, 1, 0}, address}})
    made.push_back("b" + text_of(encode(each)));
  made.push_back(
      "f" + launch::encode_frame({.kind = launch::link_kind::environment, .words = {"A=1", "B="}}) +
      launch::encode_frame({.kind = launch::link_kind::said, .process = 1, .number = 4711, .text = "hello"}));
  made.push_back("l" + launch::greeting_of_launcher("0123456789abcdef").substr(0, 36));
  made.push_back("amotd\n" + launch::greeting_of_agent("0123456789abcdef"));
  boot::node_record one, other;
  std::strcpy(one.boot_id.data(), "boot");
  std::strcpy(one.host_name.data(), "a");
  other.pid = 2;
  made.push_back("n" + raw(one) + raw(other) + raw(one));
  made.push_back(std::string("p\x01") + "cmd=barrier_out rc=0\n");
  made.push_back(std::string("p\x02") + "cmd=get_result rc=0 value=0a0b0c msg=all is well\n");
  std::string pieces;
  for (const std::string& each : boot::pmi1::split_value(address, 40)) pieces += each + "\n";
  made.push_back("v" + pieces);
  return made;
}

}  // namespace tri::fuzz
