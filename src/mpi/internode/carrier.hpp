// What carries headers and pieces between hosts: the MPI library (library_carrier.hpp), or a network of a test. Pieces
// with the same tag stay in order; headers may overtake each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/internode/message_header.hpp"

namespace tri::mpi {

class carrier {
 public:
  /// Called by `poll`, one at a time.
  class listener {
   public:
    virtual void arrived(int from, const message_header& header, std::span<const std::byte> data) = 0;
    virtual void piece_sent(std::uint64_t ticket) = 0;
    virtual void piece_received(std::uint64_t ticket) = 0;

   protected:
    ~listener() = default;
  };

  virtual ~carrier() = default;
  /// Does not block; header and data are copied.
  virtual void send(int to, const message_header& header, std::span<const std::byte> data) = 0;
  /// The data is in use until `piece_sent`.
  virtual void send_piece(int to, int tag, std::span<const std::byte> data, std::uint64_t ticket) = 0;
  /// From that rank, or from whichever sends it (any_source); until `piece_received`.
  virtual void receive_piece(int from, int tag, std::span<std::byte> into, std::uint64_t ticket) = 0;
  /// Of one that no rank has sent, nor will.
  virtual void cancel_receive(std::uint64_t ticket) = 0;
  /// True: something has happened.
  virtual bool poll(listener& to) = 0;
  /// Of headers and their data that it has copied and not sent yet.
  virtual std::size_t bytes_under_way() const = 0;
  /// Pieces are told apart by tags from 0 to this one.
  virtual int largest_tag() const = 0;
};

}  // namespace tri::mpi
