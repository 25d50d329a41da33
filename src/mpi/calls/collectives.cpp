#include "mpi/calls/collectives.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <vector>

#include "mpi/calls/requests.hpp"
#include "mpi/engine/meeting_place.hpp"

namespace tri::mpi::collectives {
namespace {

// The messages of one operation. Operations of a communicator follow each other in the same order everywhere, and so do
// the messages of one sender: the tag only keeps what belongs to different operations apart.
class operation {
 public:
  operation(session& in, communicator& comm)
      : in_(in), comm_(comm), tag_(static_cast<int>(comm.collectives++ & INT_MAX)) {}
  ~operation() { wait(); }
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  void begin_send(const elements& data, int to) { begin(true, data, to); }
  void begin_receive(const elements& data, int from) { begin(false, data, from); }
  /// Returns the first error of the operation so far.
  int wait() {
    std::size_t next = 0;
    in_.ranks().wait([&] {
      while (next < open_.size() && open_[next].under_way.is_done(in_)) ++next;
      return next == open_.size();
    });
    for (message& each : open_) {
      const int error = each.under_way.result(each.arguments, MPI_STATUS_IGNORE);
      if (error_ == MPI_SUCCESS) error_ = error;
      each.under_way.finish(in_, each.arguments);
    }
    open_.clear();
    return error_;
  }
  int rank() const { return comm_.rank; }
  int size() const { return comm_.size(); }

 private:
  struct message {
    transfer_arguments arguments;
    transfer under_way;
  };
  void begin(bool is_send, const elements& data, int peer) {
    message& made = open_.emplace_back();
    made.arguments = {is_send, send_mode::standard, data.address, data.count, datatypes::find(data.type), peer,
                      tag_,    comm_.handle};
    made.arguments.is_of_collective = true;
    made.under_way.begin(in_, made.arguments, comm_);
  }

  session& in_;
  communicator& comm_;
  int tag_;
  int error_ = MPI_SUCCESS;
  std::vector<message> open_;
};

// Room for elements of any type, in memory that everybody on the host reaches.
class room {
 public:
  room(session& in, int count, MPI_Datatype type) : in_(in) {
    MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
    const MPI_Aint span = count > 0 ? true_extent + (count - 1) * std::max<MPI_Aint>(extent, -extent) : 0;
    block_ = static_cast<std::byte*>(in.ranks().blocks().allocate(static_cast<std::size_t>(span) + 1));
    start_ = block_ - true_lower + (extent < 0 ? (count - 1) * -extent : 0);
  }
  ~room() { in_.ranks().blocks().release(block_); }
  room(const room&) = delete;
  room& operator=(const room&) = delete;
  void* address() const { return start_; }

 private:
  session& in_;
  std::byte* block_ = nullptr;
  std::byte* start_ = nullptr;
};

// Between buffers of this process, of one type signature.
void copy(const elements& from, const elements& to) {
  const buffer_type from_type = datatypes::find(from.type);
  const buffer_type to_type = datatypes::find(to.type);
  const std::size_t bytes = std::min(static_cast<std::size_t>(from.count) * from_type.bytes,
                                     static_cast<std::size_t>(to.count) * to_type.bytes);
  if (bytes == 0 || from.address == to.address) return;
  if (from_type.is_plain && to_type.is_plain) {
    std::copy_n(static_cast<const std::byte*>(from.address), bytes, static_cast<std::byte*>(to.address));
    return;
  }
  std::vector<std::byte> packed(static_cast<std::size_t>(from.count) * from_type.bytes);
  pack(from.address, from.count, from_type, packed.data());
  unpack(packed.data(), bytes, to.address, to.count, to_type);
}

// With more ranks than cores, and a few bytes each. Everybody decides alike.
bool meets(session& in, std::size_t bytes) {
  return in.ranks().options().oversubscribed && bytes <= meeting_place::most_bytes;
}

// `combine` makes the outcome of everybody's part, on one of the ranks.
template <class Combine>
const std::byte* meet(session& in, communicator& comm, const void* own, std::size_t bytes, Combine&& combine) {
  meeting_place& place = *comm.meeting;
  const std::uint64_t count = ++comm.meetings;
  if (place.arrive(static_cast<std::uint32_t>(comm.rank), own, bytes)) {
    combine(place);
    place.end();
    for (int rank = 0; rank < comm.size(); ++rank)
      if (rank != comm.rank) in.ranks().wake(comm.number_of[static_cast<std::size_t>(rank)]);
  } else {
    in.ranks().wait([&] { return place.has_ended(count); });
  }
  return place.outcome();
}

const void* own_part(const void* from, const void* to) { return from == MPI_IN_PLACE ? to : from; }

}  // namespace

// Otherwise dissemination: in round k everybody hears from the rank 2^k before it (Hensgen, Finkel, Manber 1988).
int barrier(session& in, communicator& comm) {
  if (meets(in, 0)) {
    meet(in, comm, nullptr, 0, [](meeting_place&) {});
    return MPI_SUCCESS;
  }
  operation all(in, comm);
  for (int distance = 1; distance < all.size(); distance *= 2) {
    all.begin_receive({}, (all.rank() - distance % all.size() + all.size()) % all.size());
    all.begin_send({}, (all.rank() + distance) % all.size());
    all.wait();
  }
  return all.wait();
}

// Binomial tree.
int broadcast(session& in, communicator& comm, const elements& data, int root) {
  operation all(in, comm);
  const int size = all.size();
  const int place = (all.rank() - root + size) % size;
  int distance = 1;
  for (; distance < size; distance *= 2) {
    if ((place & distance) == 0) continue;
    all.begin_receive(data, (place - distance + root) % size);
    all.wait();
    break;
  }
  for (distance /= 2; distance > 0; distance /= 2)
    if (place + distance < size) all.begin_send(data, (place + distance + root) % size);
  return all.wait();
}

int reduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation_, int root) {
  operation all(in, comm);
  const int size = all.size();
  const int place = (all.rank() - root + size) % size;
  const bool is_root = all.rank() == root;
  const room partial(in, to.count, to.type);
  const room arriving(in, to.count, to.type);
  void* const sum = is_root ? to.address : partial.address();
  const elements mine{sum, to.count, to.type};
  if (const void* const own = own_part(from, to.address); own != sum)
    copy({const_cast<void*>(own), to.count, to.type}, mine);
  for (int distance = 1; distance < size; distance *= 2) {
    if ((place & distance) != 0) {
      all.begin_send(mine, (place - distance + root) % size);
      break;
    }
    if (place + distance >= size) continue;
    all.begin_receive({arriving.address(), to.count, to.type}, (place + distance + root) % size);
    all.wait();
    PMPI_Reduce_local(arriving.address(), sum, to.count, to.type, operation_);
  }
  return all.wait();
}

// Otherwise recursive doubling; of the ranks beyond the largest power of two each leaves its part to a neighbour first.
int allreduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation_) {
  const buffer_type& type = datatypes::find(to.type);
  if (const std::size_t bytes = static_cast<std::size_t>(to.count) * type.bytes; type.is_plain && meets(in, bytes)) {
    const void* const own = own_part(from, to.address);
    const std::byte* const sum = meet(in, comm, own, bytes, [&](meeting_place& place) {
      std::copy_n(place.data_of(0), bytes, place.outcome());
      for (std::uint32_t rank = 1; rank < static_cast<std::uint32_t>(comm.size()); ++rank)
        PMPI_Reduce_local(place.data_of(rank), place.outcome(), to.count, to.type, operation_);
    });
    std::copy_n(sum, bytes, static_cast<std::byte*>(to.address));
    return MPI_SUCCESS;
  }
  operation all(in, comm);
  const int size = all.size();
  const int rank = all.rank();
  const int doubling = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int beyond = size - doubling;
  if (from != MPI_IN_PLACE) copy({const_cast<void*>(from), to.count, to.type}, to);
  const room arriving(in, to.count, to.type);
  const elements theirs{arriving.address(), to.count, to.type};
  const auto add = [&] { PMPI_Reduce_local(arriving.address(), to.address, to.count, to.type, operation_); };
  int place = rank - beyond;  // among those who double
  if (rank < 2 * beyond) {
    if (rank % 2 == 0) {
      all.begin_send(to, rank + 1);
      all.wait();
      place = -1;
    } else {
      all.begin_receive(theirs, rank - 1);
      all.wait();
      add();
      place = rank / 2;
    }
  }
  const auto rank_at = [&](int other) { return other < beyond ? 2 * other + 1 : other + beyond; };
  if (place >= 0) {
    for (int distance = 1; distance < doubling; distance *= 2) {
      const int other = rank_at(place ^ distance);
      all.begin_receive(theirs, other);
      all.begin_send(to, other);
      all.wait();
      add();
    }
  }
  if (rank < 2 * beyond) {
    if (rank % 2 == 0)
      all.begin_receive(to, rank + 1);
    else
      all.begin_send(to, rank - 1);
  }
  return all.wait();
}

int gather(session& in, communicator& comm, const elements& mine, const parts& everybodys, int root) {
  operation all(in, comm);
  if (all.rank() != root) {
    all.begin_send(mine, root);
    return all.wait();
  }
  for (int rank = 0; rank < all.size(); ++rank)
    if (rank != root) all.begin_receive(everybodys.of(rank), rank);
  if (mine.address != MPI_IN_PLACE) copy(mine, everybodys.of(root));
  return all.wait();
}

int scatter(session& in, communicator& comm, const parts& everybodys, const elements& mine, int root) {
  operation all(in, comm);
  if (all.rank() != root) {
    all.begin_receive(mine, root);
    return all.wait();
  }
  for (int step = 1; step < all.size(); ++step) {
    const int rank = (root + step) % all.size();
    all.begin_send(everybodys.of(rank), rank);
  }
  if (mine.address != MPI_IN_PLACE) copy(everybodys.of(root), mine);
  return all.wait();
}

int allgather(session& in, communicator& comm, const elements& mine, const parts& everybodys) {
  operation all(in, comm);
  const elements own = mine.address == MPI_IN_PLACE ? everybodys.of(all.rank()) : mine;
  for (int step = 1; step < all.size(); ++step) {
    const int rank = (all.rank() - step + all.size()) % all.size();
    all.begin_receive(everybodys.of(rank), rank);
  }
  for (int step = 1; step < all.size(); ++step) all.begin_send(own, (all.rank() + step) % all.size());
  copy(own, everybodys.of(all.rank()));
  return all.wait();
}

int alltoall(session& in, communicator& comm, const parts& to_each, const parts& from_each) {
  operation all(in, comm);
  for (int step = 1; step < all.size(); ++step) {
    const int rank = (all.rank() - step + all.size()) % all.size();
    all.begin_receive(from_each.of(rank), rank);
  }
  for (int step = 1; step < all.size(); ++step) {
    const int rank = (all.rank() + step) % all.size();
    all.begin_send(to_each.of(rank), rank);
  }
  copy(to_each.of(all.rank()), from_each.of(all.rank()));
  return all.wait();
}

}  // namespace tri::mpi::collectives
