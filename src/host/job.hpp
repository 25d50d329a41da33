// A process's membership in a job: who else is there, their arenas' descriptors, a barrier, and a clean or failed end.
// Owned by the process's start-up code. join(), barrier() and leave() are called by one thread at a time; fail() may be
// called by any thread at any moment, also while another waits in barrier(). The launcher is at the other end of a
// socket; without one (no TRIREME_JOB in the environment) the job is this process alone and nothing is opened.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/packet_socket.hpp"
#include "host/unique_fd.hpp"

namespace tri::host {

struct configuration;

struct peer {
  int process = 0;  // rank in the job
  pid_t pid = 0;
  int host = 0;        // (emulated) host
  int local_rank = 0;  // rank among the processes of that host
  int arena_fd = -1;   // -1 for processes of another host, and for those that gave none; closed with the job
};

// Joining failed; the text is for the user.
class job_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class job {
 public:
  // Collective over the job: returns when all processes have the whole table of peers. `own_arena_fd` (or -1) goes to
  // the processes of the same host and stays the caller's. `fingerprint` is a hash of what must be equal in all
  // processes (the registration tables of the program); where it differs the job ends. Throws job_error,
  // configuration_error.
  static job join(const configuration& values, int own_arena_fd, std::uint64_t fingerprint);

  job(job&&) = default;
  job& operator=(job&&) = default;
  ~job() = default;  // without leave() before, the launcher takes the closed socket for a crash

  int process() const { return process_; }
  int processes() const { return static_cast<int>(peers_.size()); }
  int pes_per_process() const { return pes_; }  // configuration::pes with 0 resolved; the same in all processes
  int host() const { return self().host; }
  int hosts() const { return hosts_; }
  const std::vector<peer>& peers() const { return peers_; }
  const peer& self() const { return peers_[static_cast<std::size_t>(process_)]; }
  bool launched() const { return static_cast<bool>(socket_); }  // false: no launcher, this process alone

  // For pinning: the place of this process among all of the machine, whatever hosts are emulated on it.
  int machine_rank() const { return process_; }
  int machine_processes() const { return processes(); }

  void barrier();  // collective, through the launcher
  // Announces a clean end with this exit status. From then on the end of the process is no crash (unless by a signal).
  void leave(int exit_status);
  // The launcher (or this process, without one) prints the message once and the job ends with status 1. Returns never.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  job() = default;
  void greet(int own_arena_fd, std::uint64_t fingerprint);
  void take_table(int own_arena_fd);
  void check_table() const;

  packet_socket socket_;
  int process_ = 0;
  int pes_ = 1;
  int hosts_ = 1;
  bool left_ = false;
  std::uint64_t epoch_ = 0;  // barriers so far
  std::vector<peer> peers_;
  std::vector<unique_fd> fds_;  // of the peers' arenas
};

// How emulated hosts divide the processes: host h has the contiguous ranks [first_process_of(h), first_process_of(h +
// 1)).
int first_process_of(int host, int processes, int hosts);
int host_of(int process, int processes, int hosts);

}  // namespace tri::host
