// The conduit over two-sided calls of MPI, for networks whose only good library is an MPI. It is independent of the MPI
// behind the calls (boot/mpi/mpi_calls.hpp): tests substitute their own. The owner calls it from one thread at a time;
// MPI_THREAD_SERIALIZED is enough. README.md has the protocol and its source.
//
// MPI lacks two guarantees of other conduits: it has no descriptor to sleep on, so sleeps have a maximum length; and
// dead peers are detected by the process monitors, not here.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "boot/mpi/mpi_calls.hpp"
#include "wire/conduit.hpp"
#include "wire/mpi/posting_plan.hpp"

namespace tri::wire {

struct mpi_options {
  std::size_t small_bytes = 8192;  // packets up to this size go into receives posted in advance for MPI_ANY_SOURCE
  std::size_t small_receives = 64;
  posting_options posted = {};                     // for larger bodies that arrive without a request
  std::size_t piece_bytes = std::size_t{1} << 30;  // of one call, which counts in int
};

struct mpi_conduit_counters {
  std::uint64_t small_arrived = 0;        // packets that came in one small message
  std::uint64_t bodies_arrived = 0;       // in a message of their own, behind an announcement
  std::uint64_t bodies_posted_ahead = 0;  // of those, that found a receive when they were announced
  std::uint64_t offered_arrived = 0;      // requested bodies
  std::uint64_t receives_withdrawn = 0;   // because other sizes came more often
};

class mpi_conduit {
 public:
  /// The calls outlive the conduit, and no other one uses them meanwhile. Throws std::invalid_argument for options that
  /// cannot be.
  mpi_conduit(boot::mpi_calls& mpi, std::size_t peers, const mpi_options& options);
  ~mpi_conduit();
  mpi_conduit(const mpi_conduit&) = delete;
  mpi_conduit& operator=(const mpi_conduit&) = delete;

  std::span<const std::byte> address() const;
  void connect(peer_number peer, std::span<const std::byte> address);
  peer_state state(peer_number peer) const;
  send_result send(peer_number to, sending how, std::span<const std::byte> header, std::span<const std::byte> body,
                   packet_token token);
  void accept(announcement body, void* memory, std::size_t bytes, packet_token token);
  void refuse(announcement body);
  bool progress(conduit_events& events);
  int wake_descriptor() const;
  static constexpr bool reports_sends = false;
  std::int64_t longest_sleep_ns() const;
  bool prepare_sleep();
  void wake();
  bool close(conduit_events& events, bool at_once);

  mpi_conduit_counters counters() const;
  std::size_t posted_ahead_for(std::size_t bytes) const;  // receives for bodies of this size

 private:
  class engine;
  std::unique_ptr<engine> engine_;
};

static_assert(conduit<mpi_conduit>);

}  // namespace tri::wire
