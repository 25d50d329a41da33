#include "mpi/coll/groups/sum_between_groups.hpp"

#include <algorithm>
#include <memory>

#include "mpi/coll/shm_steps.hpp"
#include "mpi/startup/progress_thread.hpp"

namespace tri::mpi::collectives {
namespace {

constexpr std::size_t most_bytes_of_waiting = std::size_t{4} << 20;  // a rank that waits receives the others in time
constexpr std::size_t most_bytes_otherwise = std::size_t{64} << 20;
constexpr std::size_t least_side_by_side = 2;  // contributions, however large: one arrives while another is combined

// Of this process, in the order in which they began. With the call guard.
std::vector<sum_between_groups*> under_way;

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

}  // namespace

sum_between_groups::sum_between_groups(session& in, communicator& comm, const operation_identity& identity,
                                       const part_of_sum& own, std::size_t most_bytes)
    : in_(in),
      comm_(comm),
      identity_(identity),
      own_(own),
      last_(comm.size() - 1),
      next_(own.gets_sum ? last_ : -1),
      slots_(count_slots(most_bytes)),
      sends_(in, comm, identity) {
  for (int rank = next_; rank > next_ - static_cast<int>(slots_.size()); --rank) begin_receive(rank);
  for (int i = 0; i < own_.receivers; ++i) sends_.begin_send(own_.contribution, own_.first_receiver + i);
  if (static_cast<int>(slots_.size()) > next_) return;  // others wait for nothing that is still to begin
  under_way.push_back(this);
  in_.set_advance(session::advancing::sums_between_groups, &advance_all);
}

sum_between_groups::~sum_between_groups() {
  in_.ranks().wait([this] { return is_done(in_); }, asks_library());
  if (std::erase(under_way, this) > 0 && under_way.empty())
    in_.set_advance(session::advancing::sums_between_groups, nullptr);
}

std::size_t sum_between_groups::count_slots(std::size_t most_bytes) const {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  if (!own_.gets_sum || ranks <= least_side_by_side) return own_.gets_sum ? ranks : 0;
  const elements& of = own_.contribution;
  const MPI_Aint extent = extent_of(of.type);
  const std::size_t bytes = std::max(bytes_of(of), static_cast<std::size_t>(of.count * std::max(extent, -extent)));
  const std::size_t fitting = most_bytes / std::max<std::size_t>(bytes, 1);
  return std::clamp(fitting, least_side_by_side, ranks);
}

void sum_between_groups::begin_receive(int rank) {
  slot& place = slot_of(rank);
  const elements& of = own_.contribution;
  place.arriving.emplace(in_, comm_, identity_);
  if (is_received_as_sum(rank)) {
    place.arriving->begin_receive(own_.sum, rank);
    return;
  }
  if (!place.room) place.room.emplace(in_, of.count, of.type);
  place.arriving->begin_receive({place.room->address(), of.count, of.type}, rank);
}

void sum_between_groups::combine(int rank) {
  slot& place = slot_of(rank);
  const int error = place.arriving->finish(in_);
  if (error_ == MPI_SUCCESS) error_ = error;
  place.arriving.reset();
  if (!is_received_as_sum(rank)) {
    auto* const part = static_cast<std::byte*>(place.room->address()) + own_.first_of_sum * extent_of(own_.sum.type);
    if (rank == last_)
      copy({part, own_.sum.count, own_.sum.type}, own_.sum);
    else
      reduce_local(part, own_.sum.address, own_.sum, own_.operation);
  }
  if (const int later = rank - static_cast<int>(slots_.size()); later >= 0) begin_receive(later);
}

// Functions of the program and the library are for threads that know both.
bool sum_between_groups::advance() {
  if (progress_thread::is_this()) return false;
  bool worked = false;
  while (next_ >= 0 && slot_of(next_).arriving->is_done(in_)) {
    combine(next_--);
    worked = true;
  }
  return worked;
}

// Others wait for this rank to receive in operations that it does not wait for itself.
bool sum_between_groups::advance_all(bool) {
  bool worked = false;
  for (std::size_t i = 0; i < under_way.size(); ++i)
    if (under_way[i]->advance()) worked = true;
  return worked;
}

bool sum_between_groups::is_done(session& in) {
  advance();
  return next_ < 0 && sends_.is_done(in);
}

int sum_between_groups::finish(session& in) {
  const int error_of_sends = sends_.finish(in);
  return error_ != MPI_SUCCESS ? error_ : error_of_sends;
}

int run_sum_between_groups(session& in, communicator& comm, const completion& how, const part_of_sum& own) {
  if (!how.is_blocking())
    return how.begin(in, comm, [&](const operation_identity& identity) {
      return std::make_unique<sum_between_groups>(in, comm, identity, own, most_bytes_otherwise);
    });
  sum_between_groups all(in, comm, operation_identity::next_of(comm), own, most_bytes_of_waiting);
  in.ranks().wait([&] { return all.is_done(in); }, all.asks_library());
  return all.finish(in);
}

}  // namespace tri::mpi::collectives
