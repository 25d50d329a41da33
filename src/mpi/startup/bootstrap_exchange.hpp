// The bootstrap exchange: the agreements of a job's ranks during start, before they share memory. When the launcher
// states that all are on this host, they connect to a socket of rank 0 in the user's private folder
// (mpi/heap/job/private_folder.hpp) and agree through it: the library's first collective operation makes up to 640 KiB
// resident, which a program may never need. Otherwise they agree by collective operations of the library. When ranks
// that should connect do not, the job is left to the library: the missing ones run without us, and would never enter a
// collective operation in MPI_Init.
//
// The outcome is the same for all ranks: a connected rank waits for rank 0's answer, which is yes only when all have
// connected. A rank that gives up waiting for rank 0's socket has not connected.
//
// A job on several hosts agrees as a whole; what the ranks of a host give each other stays on it.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mpi/startup/job_hosts.hpp"
#include "mpi/startup/user_settings.hpp"
#include "os/packet_socket.hpp"

namespace tri::mpi {

class bootstrap_exchange {
 public:
  /// Collective over the job.
  bootstrap_exchange(int rank, int ranks);

  /// Then all ranks are on this host, and connected.
  bool connected() const { return connected_; }
  /// All should have connected, and some did not: the others must not wait for them. The same for all connected ranks.
  bool has_failed() const { return is_due_ && !connected_; }
  /// The message about that: for rank 0, and for ranks that did not find it.
  const std::string& failure() const { return failure_; }

  /// Waits until all ranks have come here, unless connected; before the first collective operation. Ranks that run
  /// without us never come, and would take those operations for the program's: then the job ends with a line.
  void meet() const;
  /// Collective over the job, unless connected. `pretended` as for find_job_hosts.
  void find_hosts(int pretended) {
    if (!connected_) hosts_ = find_job_hosts(rank_, ranks_, pretended);
  }
  /// All ranks are on this host until find_hosts() knows better.
  const job_hosts& hosts() const { return hosts_; }

  // Each is collective. When a connection is lost, its rank has died, and the job ends; and when a rank is silent for
  // too long.
  bool all_agree(bool fits) const { return smallest(fits ? 1 : 0) == 1; }
  int smallest(int mine) const;
  /// The parts of all ranks of the host, in their order; at most 128 bytes each.
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) const;
  /// Broadcast from rank 0 of the host; at most 128 bytes.
  void tell(std::span<std::byte> what) const;

  /// When connected: at rank 0 the connections to the others, in the order of ranks; at the others the one to it.
  const std::vector<os::packet_socket>& connections() const { return connections_; }

  /// What came on one of them; nothing when its descriptors were lost on the way. Ends the job when the rank has died.
  os::packet received_from(const os::packet_socket& rank) const;

 private:
  void wait_for_others(int folder, const std::string& name);  // rank 0
  void come(int folder, const std::string& name);
  std::string silence_of(const os::packet_socket& other, std::chrono::seconds limit) const;
  [[noreturn]] void end_job(const char* why) const;

  int rank_;
  int ranks_;
  job_hosts hosts_;
  start_limits limits_;
  bool connected_ = false;
  bool is_due_ = false;
  std::string failure_;
  std::vector<os::packet_socket> connections_;
};

/// The socket's name, unique among the jobs of the user that run on the host, when the launcher states that all of the
/// job's `ranks` ranks are here; empty otherwise.
std::string job_on_this_host(int ranks);

/// Connections like those of a bootstrap exchange, at a socket whose name goes through the library. Collective over the
/// ranks of a host; when one throws and drops its connections, the others detect it within 20 s.
std::vector<os::packet_socket> connect_through_library(const job_hosts& hosts);

}  // namespace tri::mpi
