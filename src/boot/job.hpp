// A process's membership in a job: the other processes, their arenas' descriptors, their addresses, a barrier, and a
// clean or failed end. Owned by the process's start-up code. join(), publish_endpoint_address(), barrier() and leave()
// are called by one thread at a time; endpoint_address_of() and fail() may be called by any thread at any moment, also
// while another waits in barrier(). What started the process is behind `membership`: `trireme run`, or a launcher that
// speaks PMIx or PMI-1 (launcher_detection). Without a launcher the job is this process alone and nothing is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "boot/job_layout.hpp"
#include "boot/job_peer.hpp"
#include "boot/membership.hpp"
#include "os/unique_fd.hpp"

namespace tri::config {
struct configuration;
}

namespace tri::boot {

class job {
 public:
  // Collective over the job: returns when all processes have the whole table of peers. `own_arena_fd` (or -1) is sent
  // to the processes of the same host; the caller keeps it. `fingerprint` is a hash of what must be equal in all
  // processes (the program's registration tables); on a mismatch the job ends. Throws job_error, configuration_error.
  static job join(const config::configuration& values, int own_arena_fd, std::uint64_t fingerprint);

  job(job&&) = default;
  job& operator=(job&&) = default;
  ~job() = default;  // without leave() before, the launcher takes the closed socket for a crash

  int process() const { return process_; }
  int processes() const { return static_cast<int>(peers_.size()); }
  int pes_per_process() const { return pes_; }  // configuration::pes with 0 resolved; the same in all processes
  int host() const { return self().host; }
  int hosts() const { return hosts_.hosts(); }
  int host_of(int process) const { return peers_[static_cast<std::size_t>(process)].host; }
  int first_process_of(int host) const { return hosts_.first_process_of(host); }
  int processes_of(int host) const { return hosts_.processes_of(host); }
  const std::vector<peer>& peers() const { return peers_; }
  const peer& self() const { return peers_[static_cast<std::size_t>(process_)]; }
  bool launched() const { return membership_ != nullptr; }  // false: no launcher, this process alone

  // Those that are one really; hosts may be pretended.
  int machines() const { return machines_.hosts(); }
  // For pinning: the index of this process on the machine, whatever hosts are emulated on it.
  int first_process_of_machine() const { return machines_.first_process_of(machines_.host_of(process_)); }
  int machine_rank() const { return process_ - first_process_of_machine(); }
  int machine_processes() const { return machines_.processes_of(machines_.host_of(process_)); }

  void barrier();  // collective, through the launcher

  // Its name, or "host 3" when it is emulated or has no name.
  std::string name_of_host(int host) const;

  // An address by which others reach this process, such as that of its wire: up to most_endpoint_address_bytes,
  // published at most once and before a barrier. Throws std::length_error, std::logic_error.
  void publish_endpoint_address(std::span<const std::byte> address);
  // The address of a process of the job; may be called after the barrier that followed the publishing. Queries the
  // launcher each time, so no address is stored needlessly. Throws job_error when that process has published none,
  // std::out_of_range when there is no such process.
  std::vector<std::byte> endpoint_address_of(int process) const;

  // Announces a clean end with this exit status. From then on the end of the process is not a crash (unless by a
  // signal). Collective where the launcher is not `trireme run`.
  void leave(int exit_status);
  // The launcher (or this process, without one) prints the message once and the job ends with status 1. Returns never.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  job() = default;

  std::unique_ptr<membership> membership_;
  int process_ = 0;
  int pes_ = 1;
  layout machines_;
  layout hosts_;
  bool left_ = false;
  bool published_ = false;
  std::vector<std::byte> own_endpoint_address_;
  std::vector<peer> peers_;
  std::vector<os::unique_fd> fds_;  // of the peers' arenas
};

// How emulated hosts divide the processes: host h has the contiguous ranks [first_process_of(h), first_process_of(h +
// 1)).
int first_process_of(int host, int processes, int hosts);
int host_of(int process, int processes, int hosts);

}  // namespace tri::boot
