// The headers of the protocol between hosts: eager messages, rendezvous, offers. Each is a message of the MPI library;
// an eager one has the data behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/engine/records.hpp"

namespace tri::mpi {

enum class header_kind : std::uint32_t {
  eager,     // a message of the program, whole
  pushed,    // the data follows, as a message of its own to the receiver
  request,   // to its receiver: a message whose data stays with its sender (RTS)
  offer,     // to all ranks of the receiver's host: the same; the rank that says so waits, and sends pieces
  pull,      // send me that piece (CTS)
  withdraw,  // to a rank that has offered a message: send me no more pieces
  released,  // the answer: nothing of mine is on its way to you; pieces from `piece` on will not come from me
  stopped,   // to all to whom it was offered: the same, and I send no more
  query,     // which messages of mine have you received?
  answer,    // all before that sequence number, as far as they were pushed
  ask_room,  // is there room for more eager messages?
  room       // yes; all before the question have been read
};

struct message_header {
  header_kind kind = header_kind::eager;
  std::uint32_t number = 0;    // of the header, among those from one rank to another
  std::uint32_t sequence = 0;  // of the message, among the messages from `from` to `to`
  message_key key;
  std::uint64_t bytes = 0;  // of the message; in a pull, those that there is room for
  std::int32_t from = 0;    // of the message: ranks in the job
  std::int32_t to = 0;
  std::uint32_t slot = 0;        // of the message, at its sender's
  std::uint32_t generation = 0;  // of the slot
  std::uint32_t piece = 0;
  std::int32_t tag = 0;     // with which the data is sent
  std::uint32_t epoch = 0;  // of the offer; 0: the receiver asks the sender, and both may take their time

  bool is_of_same_message(const message_header& other) const {
    return from == other.from && to == other.to && sequence == other.sequence;
  }
};

/// How messages travel, by their bytes. All ranks have the same.
struct message_sizes {
  /// Up to here a message travels with its header. Both together are below the eager limit of the libraries' TCP
  /// transports, so that a sender that computes keeps back nothing.
  std::size_t most_eager = std::size_t{60} << 10;
  /// Up to here the data is pushed: the library gets it at once, for the receiver itself. Where larger messages are
  /// pulled, in pieces that any rank may send and receive, that costs a round trip.
  std::size_t most_pushed = std::size_t{512} << 10;
  std::size_t of_piece = std::size_t{1} << 20;

  /// An empty message has one piece, for its sender to know.
  std::uint32_t pieces(std::uint64_t bytes) const {
    return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + of_piece - 1) / of_piece);
  }
  std::uint64_t offset(std::uint32_t piece) const { return std::uint64_t{piece} * of_piece; }
  std::size_t in_piece(std::uint32_t piece, std::uint64_t bytes) const {
    const std::uint64_t left = bytes - offset(piece);
    return left < of_piece ? static_cast<std::size_t>(left) : of_piece;
  }
};

}  // namespace tri::mpi
