// Detects the death of processes of the same machine, and of a foreign launcher: some launchers do not notice deaths,
// or are configured not to end the job. A thread that sleeps until a pidfd, a socket or the launcher's descriptor has
// an event. The first process of a machine watches all others, they watch the first. Owned by pmi_membership.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "boot/bootstrap_messages.hpp"
#include "os/packet_socket.hpp"
#include "os/unique_fd.hpp"

namespace tri::boot {

class local_peer_monitor {
 public:
  struct local_peer {
    int process;
    pid_t pid;
  };
  // `report` is called at most once, from the thread of the monitor: that process ended (or only closed its connection)
  // without having left. Before that, the launcher has `timeout_ms` to end the job, with a better message. When the
  // parent of this process ends, or `launcher_fd` (-1: none) hangs up, this process ends with status 1 and a line of
  // text. Throws std::system_error.
  local_peer_monitor(const std::vector<local_peer>& local_peers, int launcher_fd, int timeout_ms,
                     std::function<void(int process, bool ended)> report);
  ~local_peer_monitor();  // ends the thread
  local_peer_monitor(const local_peer_monitor&) = delete;
  local_peer_monitor& operator=(const local_peer_monitor&) = delete;

  // Over this connection the local peer and we report to each other that we leave or that the job ends.
  void connect(int process, os::packet_socket socket);
  // To all connected peers: the end of this process will not be a crash.
  void say_left(int exit_status);
  // To all that are connected: the job has failed, which is reported. They end, if the launcher does not end them, and
  // report nothing.
  void say_failed();
  void stop();  // nothing is reported any more

 private:
  struct watched {
    local_peer who;
    os::unique_fd pidfd;  // none: ended already
    os::packet_socket socket;
    bool left = false;
    bool closed = false;  // its connection
    bool done = false;    // nothing more is expected of it
  };
  void run();
  void say(const bootstrap_message& message);
  void hear(watched& from);
  bool has_ended(watched& which);
  bool stopped_within(int milliseconds) const;

  int launcher_fd_;
  int timeout_ms_;
  std::function<void(int, bool)> report_;
  os::unique_fd parent_;     // none where the parent is outside of our namespace
  os::unique_fd wake_;       // an eventfd: something changed
  mutable std::mutex lock_;  // guards what follows
  bool stop_ = false;
  bool failed_ = false;  // a failure was reported
  std::vector<std::unique_ptr<watched>> watched_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tri::boot
