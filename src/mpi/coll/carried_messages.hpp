// The messages between hosts of one plan: the MPI library's, on the carrier of the communicator. All that are under way
// are polled with one call. With the call guard.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tri::mpi::collectives {

class carried_messages {
 public:
  explicit carried_messages(MPI_Comm carrier) : carrier_(carrier) {}

  /// Numbered from 0. `bytes`: what the elements have; a receive that gets another number has failed.
  std::size_t begin_send(const void* at, MPI_Count count, MPI_Datatype type, int to, int tag);
  std::size_t begin_receive(void* at, MPI_Count count, MPI_Datatype type, std::uint64_t bytes, int from, int tag);
  /// Gives the library a turn, unless there are none under way.
  void poll();
  std::size_t under_way() const { return open_.size(); }
  bool is_under_way(std::size_t number) const { return all_[number].is_under_way; }
  /// MPI_SUCCESS, or the class of its error.
  int error_of(std::size_t number) const { return all_[number].error; }

 private:
  struct message {
    std::uint64_t bytes = 0;
    bool is_receive = false;
    bool is_under_way = true;
    int error = MPI_SUCCESS;
  };
  template <class Begin>
  std::size_t add(std::uint64_t bytes, bool is_receive, Begin&& begin);
  void end(message& one, int error);

  MPI_Comm carrier_;
  std::vector<message> all_;
  std::vector<MPI_Request> open_;
  std::vector<std::size_t> number_of_;  // of these
  // Of poll(), which many calls share.
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace tri::mpi::collectives
