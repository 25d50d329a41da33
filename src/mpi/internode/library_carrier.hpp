// Headers and pieces as messages of the MPI library, on a communicator that has no other use. With the call guard. An
// error of the library ends the job, with a line.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "mpi/internode/carrier.hpp"

namespace tri::mpi {

class library_carrier final : public carrier {
 public:
  /// For it, with the members of this one; collective over them. It has no attributes and returns errors. Null on all
  /// where the library has no room for it.
  static MPI_Comm make_communicator(MPI_Comm of);
  /// `comm`: with the ranks of the job; it is freed at the end.
  library_carrier(MPI_Comm comm, int largest_tag);
  /// Collective over the job: no rank sends any more.
  ~library_carrier() override;

  void send(int to, const message_header& header, std::span<const std::byte> data) override;
  void send_piece(int to, int tag, std::span<const std::byte> data, std::uint64_t ticket) override;
  void receive_piece(int from, int tag, std::span<std::byte> into, std::uint64_t ticket) override;
  void cancel_receive(std::uint64_t ticket) override;
  bool poll(listener& to) override;
  std::size_t bytes_under_way() const override { return bytes_under_way_; }
  int largest_tag() const override { return largest_tag_ - 1; }

 private:
  struct piece {
    std::uint64_t ticket;
    bool is_sent;
    std::size_t parts;  // that are under way
  };

  void post(std::size_t slot);
  template <class Byte, class Begin>
  void begin_piece(std::span<Byte> data, std::uint64_t ticket, bool is_sent, Begin&& begin);
  bool poll_headers(listener& to);
  bool look_at_all(listener& to);
  void take_header(listener& to, std::size_t slot, const MPI_Status& status);
  bool poll_pieces(listener& to);
  void poll_sends();
  void check(int error) const;

  MPI_Comm comm_;
  const int largest_tag_;
  // Receives that wait for headers. Each has a slot in `room_`.
  std::vector<MPI_Request> arriving_;
  std::vector<std::byte> room_;
  std::vector<std::size_t> order_;  // of slots, as they were posted
  unsigned vain_polls_ = 0;
  std::vector<MPI_Request> sending_;
  struct copied {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes;
  };
  std::vector<copied> sent_;  // of the same indices
  std::size_t bytes_under_way_ = 0;
  std::vector<MPI_Request> parts_under_way_;
  std::vector<std::uint64_t> ticket_of_part_;  // of the same indices
  std::vector<piece> pieces_;
  std::vector<int> indices_;
};

}  // namespace tri::mpi
