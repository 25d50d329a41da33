// What each rank did, read at the end of a job from all endpoints and reported as a table or as JSON. Each event is
// counted in one place, by the process that did it, so sums over all ranks agree: messages sent and received, bytes of
// large messages received and copied, chunks shared and copied (`check` names violations).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi/engine/endpoint.hpp"

namespace tri::mpi {

struct rank_statistics {
  std::int32_t domain = no_domain;  // NUMA domain, of a rank
  // messages sent, by their way
  std::uint64_t inlined = 0;
  std::uint64_t eager = 0;
  std::uint64_t rendezvous = 0;
  // messages received: found by the rank itself, or by another one while it computed
  std::uint64_t received_by_itself = 0;
  std::uint64_t received_by_others = 0;
  std::uint64_t received_for_others = 0;  // the other side of received_by_others
  std::uint64_t unexpected = 0;           // came before their receive
  // bytes of rendezvous
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_copied = 0;  // of received messages, by the rank itself
  std::uint64_t bytes_helped = 0;  // of what others received
  // copies on the board, in chunks
  std::uint64_t chunks_shared = 0;
  std::uint64_t chunks_copied = 0;
  std::uint64_t chunks_helped = 0;
  std::uint64_t chunks_far = 0;  // of these: for a rank of another NUMA domain
  std::uint64_t refused = 0;     // polls that left such work alone
  // pieces of large messages between hosts: of the rank's own, and for another one of its host
  std::uint64_t pieces_sent = 0;
  std::uint64_t pieces_sent_for_others = 0;
  std::uint64_t pieces_received = 0;
  std::uint64_t pieces_received_for_others = 0;
  std::uint64_t offers = 0;  // such messages that it offered to the ranks of the receiver's host
  // waiting, in seconds; 0 when it was not measured
  double total_s = 0;
  double waited_s = 0;
  double helped_s = 0;  // of that: work for others
  double slept_s = 0;   // of that: asleep
  std::uint64_t sleeps = 0;

  rank_statistics& operator+=(const rank_statistics& other);
};

/// Of a rank that has stopped counting. The caller provides `total_s`.
rank_statistics statistics_of(const endpoint& rank);

/// Sums over all ranks that do not match; empty when all do. Messages that no receive matched are the program's error
/// and are reported by `unreceived`.
std::string check(std::span<const rank_statistics> ranks);
std::uint64_t unreceived(std::span<const rank_statistics> ranks);

/// One line per rank and one for all, with a title. `library`: whose programs these are.
std::string to_table(std::span<const rank_statistics> ranks, const std::string& library);
/// `calls`: what calls_to_json gave (call_statistics.hpp).
std::string to_json(std::span<const rank_statistics> ranks, const std::string& library,
                    const std::string& calls = "[]");

}  // namespace tri::mpi
