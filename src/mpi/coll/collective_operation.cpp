#include "mpi/coll/collective_operation.hpp"

#include <algorithm>

namespace tri::mpi::collectives {

void operation::begin(bool is_send, const elements& data, int peer) {
  if (comm_.is_on_another_host(peer)) return carry(is_send, data, peer);
  message& made = open_.emplace_back();
  made.arguments = {is_send, send_mode::standard, data.address, data.count, datatypes::find(data.type),
                    peer,    identity_.tag,       comm_.handle};
  made.arguments.is_of_collective = true;
  made.under_way.begin(in_, made.arguments, comm_);
}

// Those between two ranks stay in order, as inside a host. They need one tag of the operation's.
void operation::carry(bool is_send, const elements& data, int peer) {
  if (carried_ == nullptr) {
    carried_ = std::make_unique<carried_messages>(comm_.carrier);
    in_.begin_polled_operation();
  }
  const int tag = comm_.hosts->tag_of(identity_.carrier_slot);
  if (is_send)
    carried_->begin_send(data.address, data.count, data.type, peer, tag);
  else
    carried_->begin_receive(data.address, data.count, data.type,
                            static_cast<std::uint64_t>(data.count) * datatypes::find(data.type).bytes, peer, tag);
}

bool operation::is_done(session& in) {
  while (first_open_ < open_.size() && open_[first_open_].under_way.is_done(in)) ++first_open_;
  if (carried_ != nullptr) carried_->poll();
  return first_open_ == open_.size() && (carried_ == nullptr || carried_->under_way() == 0);
}

int operation::finish(session& in) {
  for (message& each : open_) {
    const int error = each.under_way.result(each.arguments, MPI_STATUS_IGNORE);
    if (error_ == MPI_SUCCESS) error_ = error;
    each.under_way.finish(in, each.arguments);
  }
  open_.clear();
  first_open_ = 0;
  if (carried_ != nullptr) {
    if (error_ == MPI_SUCCESS) error_ = carried_->error();
    carried_.reset();
    in.end_polled_operation();
  }
  if (last_step_) last_step_();
  last_step_ = nullptr;
  return error_;
}

int operation::wait() {
  if (!open_.empty() || carried_ != nullptr) in_.ranks().wait([this] { return is_done(in_); }, asks_library());
  return finish(in_);
}

scratch_elements::scratch_elements(session& in, MPI_Count count, MPI_Datatype type) : in_(in) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  const MPI_Count span = count > 0 ? true_extent + (count - 1) * std::max<MPI_Aint>(extent, -extent) : 0;
  block_ = static_cast<std::byte*>(in.ranks().blocks().allocate(static_cast<std::size_t>(span) + 1));
  start_ = block_ - true_lower + (extent < 0 ? (count - 1) * -extent : 0);
}
scratch_elements::~scratch_elements() { in_.ranks().blocks().release(block_); }

}  // namespace tri::mpi::collectives
