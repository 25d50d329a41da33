// The protocol between the launcher and its agent on another host, over the remote shell's standard input and output:
// frames of a length, a kind, two numbers, a text and words. The reader checks every length. The launcher speaks first,
// one line with a random token; the agent repeats the token, so that output of the login before it is skipped, and no
// other process is mistaken for the agent. One thread at each end.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/unique_fd.hpp"

namespace tri::launch {

inline constexpr int link_version = 2;

enum class link_kind : std::uint16_t {
  // From the launcher.
  place,   // process = first of this host, number = how many; words: processes and hosts of the job, peer timeout in ms
  folder,  // text: to work in
  environment,   // words: added to that of the host
  start,         // words: the command
  deliver,       // to process: text = bytes of a bootstrap message
  refuse,        // process: its hello, text: the reason
  signal,        // number, to all but process
  output_taken,  // number: bytes of output
  end,           // everything that is left
  // From the agent.
  started,       // process, number = pid
  cannot_start,  // text
  said,          // process, number = pid, text = bytes of a bootstrap message
  disconnected,  // process
  broke,         // process: the protocol; text
  exited,        // process, number = wait status
  stopped,       // process, number = 1: stopped, 0: continues
  printed,       // process, number = 1: on standard error; text, empty at the end
  ended,         // nothing is left, and all that was printed has been sent
  // Of those who watch the job (watchers.hpp): questions to the agents, and their answers.
  figures,
  host_state,  // from the launcher to a watcher
  // From both.
  heartbeat  // the last one: there are no others
};

struct link_message {
  link_kind kind = link_kind::heartbeat;
  std::int32_t process = 0;
  std::int64_t number = 0;
  std::string text = {};
  std::vector<std::string> words = {};
};

std::string encode_frame(const link_message& message);
// Removes the first message from `bytes`; nothing when it is incomplete. Throws protocol_error.
std::optional<link_message> take_frame(std::string& bytes);

// The first lines: "trireme-launcher <version> <token>\n" and "trireme-agent <version> <token>\n".
std::string greeting_of_launcher(const std::string& token);
std::string greeting_of_agent(const std::string& token);
// The token of a launcher's line without its end. Throws protocol_error.
std::string token_of_greeting(std::string_view line);
// Removes the agent's line and all before it from `bytes`; false when it has not arrived yet. Throws protocol_error for
// another version, and when far too much precedes it.
bool take_agent_greeting(std::string& bytes, const std::string& token);

// Two descriptors as a connection that never blocks. What does not fit is kept.
class host_link {
 public:
  host_link(os::unique_fd in, os::unique_fd out);
  void send(const link_message& message) { send_raw(encode_frame(message)); }
  void send_raw(std::string_view bytes);
  void flush();
  // Reads the available bytes into received(); false at the end of the connection.
  bool receive();
  std::string& received() { return received_; }
  bool waiting() const { return !unsent_.empty(); }
  void watch(std::vector<pollfd>& watched) const;
  void close_out() { out_.reset(); }

 private:
  os::unique_fd in_;
  os::unique_fd out_;
  std::string received_;
  std::string unsent_;
};

}  // namespace tri::launch
