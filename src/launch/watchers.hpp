// Who watches a job on several hosts from outside (`trireme top`): connections to the launcher, which passes their
// questions on to its agents and the answers back. What a question and an answer say is theirs: the launcher reads
// neither. Only the user who runs the launcher gets a connection.
//
// The socket has a name in the abstract namespace, so nothing of it stays behind; the name has the launcher's pid.
//
//   watcher -> launcher   figures: number = of the question, text
//   launcher -> watcher   host_state, for each host: process = host, number = milliseconds since it was heard of, or -1
//                         when it is lost; text = its name; words = its first process, and how many it has
//   launcher -> agent     figures: process = watcher, number = of the question, text
//   agent -> launcher     figures: the same with the answer
//   launcher -> watcher   figures: process = host, number = of the question, text = the answer
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "launch/host_link.hpp"
#include "os/unique_fd.hpp"

namespace tri::launch {

class remote_host;

/// The name of the socket of the launcher with this pid.
std::string watch_socket_name(pid_t launcher);
/// The connection of a watcher to that launcher; none: there is no launcher of such a job. Throws std::runtime_error
/// when it belongs to another user.
std::optional<host_link> connect_to_launcher(pid_t launcher);

class watchers {
 public:
  /// Never fails: where no socket can be had, the job runs without.
  explicit watchers(std::vector<remote_host*> hosts);
  void watch(std::vector<pollfd>& watched) const;
  /// Takes connections and questions.
  void serve(std::int64_t now_ns);
  /// An agent has answered.
  void answered(int host, const link_message& answer);

 private:
  struct watcher {
    int number = 0;
    host_link link;
    bool has_ended = false;
  };
  void accept_all();
  void take_questions(watcher& of, std::int64_t now_ns);

  std::vector<remote_host*> hosts_;
  os::unique_fd listener_;
  std::list<watcher> watchers_;
  int next_number_ = 0;
};

}  // namespace tri::launch
