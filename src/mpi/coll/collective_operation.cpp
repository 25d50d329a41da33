#include "mpi/coll/collective_operation.hpp"

#include <algorithm>
#include <vector>

namespace tri::mpi::collectives {

std::size_t bytes_of(const elements& of) { return static_cast<std::size_t>(of.count) * datatypes::find(of.type).bytes; }

// Contiguous elements, inside the host. False: the message has ended at once, as short ones mostly do.
bool operation::begin_plain(bool is_send, const user_buffer& data, int peer, transfer& made) {
  const message_key key{comm_.context | static_cast<std::uint64_t>(identity_.channel), is_send ? comm_.rank : peer,
                        identity_.tag};
  if (is_send) {
    send_record* const record = in_.ranks().send(comm_.number_of[static_cast<std::size_t>(peer)], key, data);
    if (record == nullptr) return false;
    made.set_pending(*record);
    return true;
  }
  found_message found = {};
  receive_record* const record = in_.ranks().receive(key, data, comm_.touched, found);
  if (record == nullptr && found.bytes == data.bytes) return false;
  made.set_pending(record, found);
  return true;
}

void operation::begin(bool is_send, const elements& data, int peer) {
  const buffer_type& type = datatypes::find(data.type);
  const bool crosses_hosts = comm_.is_on_another_host(peer);
  const bool is_direct = type.is_plain && !crosses_hosts;
  transfer begun;
  if (is_direct) {
    const std::size_t bytes = static_cast<std::size_t>(data.count) * type.bytes;
    if (!begin_plain(is_send, {static_cast<std::byte*>(data.address), bytes}, peer, begun)) return;
  }
  message& made = open_.emplace_back();
  made.arguments = {.is_send = is_send,
                    .buffer = data.address,
                    .count = data.count,
                    .type = type,
                    .peer = peer,
                    .tag = identity_.tag,
                    .comm = comm_.handle,
                    .channel = identity_.channel};
  if (crosses_hosts) crosses_hosts_ = true;
  if (is_direct)
    made.under_way = begun;
  else
    made.under_way.begin(in_, made.arguments, comm_);
}

bool operation::is_done(session& in) {
  while (first_open_ < open_.size() && open_[first_open_].under_way.is_done(in)) ++first_open_;
  return first_open_ == open_.size();
}

int operation::finish(session& in) {
  for (message& each : open_) {
    const int error = each.under_way.result(each.arguments, MPI_STATUS_IGNORE);
    if (error_ == MPI_SUCCESS) error_ = error;
    each.under_way.finish(in, each.arguments);
  }
  open_.clear();
  first_open_ = 0;
  if (last_step_) last_step_();
  last_step_ = nullptr;
  return error_;
}

void copy(const elements& from, const elements& to) {
  const buffer_type& from_type = datatypes::find(from.type);
  const buffer_type& to_type = datatypes::find(to.type);
  const std::size_t bytes_from = static_cast<std::size_t>(from.count) * from_type.bytes;
  const std::size_t bytes = std::min(bytes_from, static_cast<std::size_t>(to.count) * to_type.bytes);
  // Types of one address may name different places, as all absolute ones of MPI_BOTTOM do.
  const bool is_one_place =
      from.address == to.address && (from.type == to.type || (from_type.is_plain && to_type.is_plain));
  if (bytes == 0 || is_one_place) return;
  if (from_type.is_plain && to_type.is_plain) {
    std::copy_n(static_cast<const std::byte*>(from.address), bytes, static_cast<std::byte*>(to.address));
    return;
  }
  if (to_type.is_plain && bytes == bytes_from) {
    pack(from.address, from.count, from_type, static_cast<std::byte*>(to.address));
    return;
  }
  std::vector<std::byte> packed(bytes_from);
  pack(from.address, from.count, from_type, packed.data());
  unpack(packed.data(), bytes, to.address, to.count, to_type);
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
