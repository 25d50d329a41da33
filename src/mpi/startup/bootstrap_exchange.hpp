// The bootstrap exchange: what the ranks of a job agree on while they start, before they share memory. When the
// launcher says that all are on this host, they connect to a socket of rank 0 in a folder of the user alone
// (heap/private_folder.hpp), and their agreements go that way: the first collective operation of a library makes up to
// 640 KiB of it resident, which a program may never need. Else they agree by collective operations of the library.
// Ranks that should connect and do not are left to the library: those that stay away run without us, and would never
// come to a collective operation in MPI_Init.
//
// Whether they are connected is the same for all: who has come to rank 0 waits for its word, and that is yes only when
// everybody has come. Who gives up waiting for rank 0 to open its socket has not come yet.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mpi/startup/user_settings.hpp"
#include "os/packet_socket.hpp"

namespace tri::mpi {

class bootstrap_exchange {
 public:
  /// Collective over the job.
  bootstrap_exchange(int rank, int ranks);

  /// Then all ranks are on this host, and connected.
  bool connected() const { return connected_; }
  /// All should have connected, and some did not: the others must not wait for them. The same for all who came.
  bool has_failed() const { return is_due_ && !connected_; }
  /// What is said about that: by rank 0, and by those who did not find it.
  const std::string& failure() const { return failure_; }

  // Each is collective. When a connection is lost, its rank has died, and the job ends; and when a rank is silent for
  // too long.
  bool everybody(bool fits) const { return smallest(fits ? 1 : 0) == 1; }
  int smallest(int mine) const;
  /// The parts of all, in the order of ranks; at most 128 bytes each.
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) const;
  /// Rank 0 tells all; at most 128 bytes.
  void tell(std::span<std::byte> what) const;

  /// When connected: at rank 0 the connections to the others, in the order of ranks; at the others the one to it.
  const std::vector<host::packet_socket>& connections() const { return connections_; }

  /// What came on one of them; nothing when its descriptors were lost on the way. Ends the job when the rank has died.
  host::packet received_from(const host::packet_socket& rank) const;

 private:
  void wait_for_others(int folder, const std::string& name);  // rank 0
  void come(int folder, const std::string& name);
  std::string silence_of(const host::packet_socket& other, std::chrono::seconds limit) const;
  [[noreturn]] void end_job(const char* why) const;

  int rank_;
  int ranks_;
  start_limits limits_;
  bool connected_ = false;
  bool is_due_ = false;
  std::string failure_;
  std::vector<host::packet_socket> connections_;
};

/// The socket's name, unique among the jobs of the user that run on the host, when the launcher says that all of the
/// job's `ranks` ranks are here; empty otherwise.
std::string job_on_this_host(int ranks);

/// Connections like those of a bootstrap exchange, at a socket whose name goes through the library. Collective over the
/// job; when one throws and drops what it has, the others hear of it, within 20 s.
std::vector<host::packet_socket> connect_through_library(int rank, int ranks);

}  // namespace tri::mpi
