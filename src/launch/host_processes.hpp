// The processes of a job on one host, as the launcher deals with them: started, listened to, spoken to, ended. On this
// host by local_processes; on another by remote_host, which has a local_processes at the other end of a remote shell.
// All in one thread: watch(), poll, collect(), again and again.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "boot/bootstrap_messages.hpp"

namespace tri::launch {

// What happens to them; called from collect() and end().
class process_events {
 public:
  virtual ~process_events() = default;
  virtual void started(int process, pid_t pid) = 0;
  virtual void said(int process, pid_t pid, const boot::bootstrap_message& message) = 0;
  virtual void disconnected(int process) = 0;
  virtual void broke_protocol(int process, const std::string& text) = 0;
  virtual void exited(int process, int wait_status) = 0;
  virtual void stopped(int process, bool stopped) = 0;  // by SIGSTOP and the like, or continued
  // On standard output or standard error; an empty text is the end of it. Process -1: the remote shell itself.
  virtual void printed(int process, bool error, std::string_view text) = 0;
  virtual bool wants_output(bool error) = 0;
};

class host_processes {
 public:
  virtual ~host_processes() = default;
  virtual void watch(std::vector<pollfd>& watched) const = 0;
  virtual void collect() = 0;
  virtual bool read_output() = 0;  // the available output; whether there was any
  // To a connected process; a table is sent with the arenas of its entries.
  virtual void send(int process, const boot::bootstrap_message& message) = 0;
  virtual void refuse(int process, const std::string& text) = 0;  // its hello, with the reason
  virtual void signal(int signal, int except) = 0;  // to all and their descendants but one (-1: none) and its
  // Ends all remaining processes; ended() when none is left and their output has arrived.
  virtual void end() = 0;
  virtual bool ended() const = 0;
};

}  // namespace tri::launch
