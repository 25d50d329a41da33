// How the processes of one machine give each other their arenas where the launcher cannot carry descriptors: the first
// of them waits at an abstract Unix socket, the others greet it, and it sends each the table of the machine's processes
// with the descriptors of its host. The messages are those of the bootstrap protocol (README.md). Start-up only, one
// thread of each process.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "boot/job_layout.hpp"
#include "boot/membership.hpp"
#include "os/packet_socket.hpp"

namespace tri::boot {

// The processes of this machine: contiguous numbers from `first` on.
struct machine_members {
  int first = 0;
  std::vector<pid_t> pids;
  std::vector<std::string> names;  // for messages: "process 1 (pid 4711) on vm"
  int count() const { return static_cast<int>(pids.size()); }
};

// How long one process waits for the next word of another.
class time_limit {
 public:
  explicit time_limit(double seconds) : seconds_(seconds < 1e8 ? seconds : 0) {}  // 0, or years: for ever
  double seconds() const { return seconds_; }
  bool is_none() const { return seconds_ == 0; }
  std::chrono::steady_clock::time_point from_now() const;

 private:
  double seconds_;
};

// Both fill in the peers of this machine and return the connections that remain, for local_peer_monitor: the first
// process has one to each other, in order; the others have one. Only processes of the same user with a pid of the list
// are accepted, and none of them blocks another. Throw job_error (processes that do not match or are silent),
// protocol_error, std::system_error.
std::vector<os::packet_socket> lead_exchange(os::packet_socket& listener, const machine_members& members,
                                             const layout& hosts, const own_facts& own, time_limit limit,
                                             roster& table);
std::vector<os::packet_socket> follow_exchange(const std::string& socket_name, int process,
                                               const machine_members& members, const own_facts& own, time_limit limit,
                                               roster& table);

}  // namespace tri::boot
