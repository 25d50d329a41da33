// The processes of a job on this host: starts them, accepts them at an abstract Unix socket, keeps their arenas for
// each other, reads their output, and reaps them. The caller's process must be in launcher_mode. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launch/host_processes.hpp"
#include "launch/launcher_mode.hpp"
#include "os/packet_socket.hpp"
#include "os/unique_fd.hpp"

namespace tri::launch {

struct local_job {
  int first = 0;  // the processes [first, first + count) of the job
  int count = 1;
  int processes = 1;  // of the whole job
  int machines = 1;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // whole, "NAME=value"
  bool capture_output = false;           // printed() is called; otherwise they inherit our output
  bool input_for_first = false;          // process `first` reads our standard input
};

class local_processes final : public host_processes {
 public:
  local_processes(const local_job& job, const launcher_mode& mode, process_events& events);
  ~local_processes() override;  // nothing of them stays
  local_processes(const local_processes&) = delete;
  local_processes& operator=(const local_processes&) = delete;

  void start();  // throws start_error, std::system_error

  void watch(std::vector<pollfd>& watched) const override;
  void collect() override;
  bool read_output() override;
  void send(int process, const boot::bootstrap_message& message) override;
  void refuse(int process, const std::string& text) override;
  void signal(int signal, int except) override;
  void end() override;
  bool ended() const override { return ended_ && streams_.empty(); }

 private:
  struct connection {
    os::packet_socket socket;
    int process = -1;  // before its hello
  };
  struct stream {
    os::unique_fd from;
    int process;
    bool error;
  };
  void start(int process, const std::string& path);
  os::unique_fd output_pipe(int process, bool error);
  std::vector<std::string> environment_of(int process) const;
  void accept_new();
  void read_connection(connection& from);
  void handle(connection& from, const boot::bootstrap_message& message, std::vector<os::unique_fd>& fds);
  void handle_hello(connection& from, const boot::hello_message& hello, std::vector<os::unique_fd>& fds);
  void reject(connection& from, const std::string& reason);
  bool read_stream(stream& from);

  local_job job_;
  const launcher_mode& mode_;
  process_events& events_;
  std::string job_name_;
  os::packet_socket listener_;
  std::map<pid_t, int> process_of_pid_;
  std::vector<std::unique_ptr<connection>> connections_;
  std::map<int, connection*> connection_of_process_;  // connected now
  std::map<int, bool> joined_;                        // ever
  std::map<int, os::unique_fd> arenas_;
  std::vector<stream> streams_;
  bool ended_ = false;
};

}  // namespace tri::launch
