#include "mpi/internode/library_carrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "mpi/abi/abi.hpp"

namespace tri::mpi {
namespace {

constexpr int tag_of_headers = 0;  // those of pieces follow
constexpr std::size_t most_bytes = sizeof(message_header) + message_sizes{}.most_eager;
constexpr std::size_t receives = 8;
constexpr std::size_t most_sends_without_a_look = 16;

std::size_t bytes_of(const MPI_Status& status) {
#if MPI_VERSION >= 4
  MPI_Count bytes = 0;
  PMPI_Get_elements_c(&status, MPI_BYTE, &bytes);
#else
  int bytes = 0;
  PMPI_Get_elements(&status, MPI_BYTE, &bytes);
#endif
  return static_cast<std::size_t>(bytes);
}

// Indices of what was completed, in order; they leave `list` and what belongs to it.
template <class... Lists>
void erase_indices(std::span<const int> indices, Lists&... lists) {
  for (std::size_t i = indices.size(); i-- > 0;) (lists.erase(lists.begin() + indices[i]), ...);
}

}  // namespace

library_carrier::library_carrier(MPI_Comm comm, int largest_tag)
    : comm_(comm), largest_tag_(largest_tag), arriving_(receives, MPI_REQUEST_NULL), room_(receives * most_bytes) {
  for (std::size_t slot = 0; slot < receives; ++slot) post(slot);
}

library_carrier::~library_carrier() {
  for (MPI_Request& each : arriving_) {
    PMPI_Cancel(&each);
    PMPI_Wait(&each, MPI_STATUS_IGNORE);
  }
  // What no rank receives any more keeps its memory.
  poll_sends();
  for (MPI_Request& each : sending_) PMPI_Request_free(&each);
  for (copied& each : sent_) static_cast<void>(each.data.release());
  PMPI_Comm_free(&comm_);
}

void library_carrier::check(int error) const {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(error, text, &length);
  fmt::print(stderr, "trireme mpi: a message between hosts failed: {}\n", text);
  PMPI_Abort(MPI_COMM_WORLD, 1);
}

void library_carrier::post(std::size_t slot) {
  check(PMPI_Irecv(room_.data() + slot * most_bytes, static_cast<int>(most_bytes), MPI_BYTE, MPI_ANY_SOURCE,
                   tag_of_headers, comm_, &arriving_[slot]));
}

void library_carrier::send(int to, const message_header& header, std::span<const std::byte> data) {
  const std::size_t bytes = sizeof header + data.size();
  auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::memcpy(copy.get(), &header, sizeof header);
  if (!data.empty()) std::memcpy(copy.get() + sizeof header, data.data(), data.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Isend(copy.get(), static_cast<int>(bytes), MPI_BYTE, to, tag_of_headers, comm_, &request));
  sending_.push_back(request);
  sent_.push_back({std::move(copy), bytes});
  bytes_under_way_ += bytes;
  // A rank that only sends does not poll.
  if (sending_.size() >= most_sends_without_a_look) poll_sends();
}

void library_carrier::send_piece(int to, int tag, std::span<const std::byte> data, std::uint64_t ticket) {
  pieces_.push_back({ticket, true});
  check(PMPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, to, tag + 1, comm_,
                   &pieces_under_way_.emplace_back(MPI_REQUEST_NULL)));
}

void library_carrier::receive_piece(int from, int tag, std::span<std::byte> into, std::uint64_t ticket) {
  pieces_.push_back({ticket, false});
  check(PMPI_Irecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, from == any_source ? MPI_ANY_SOURCE : from,
                   tag + 1, comm_, &pieces_under_way_.emplace_back(MPI_REQUEST_NULL)));
}

void library_carrier::cancel_receive(std::uint64_t ticket) {
  const auto found = std::ranges::find(pieces_, ticket, &piece::ticket);
  const auto index = found - pieces_.begin();
  MPI_Request& request = pieces_under_way_[static_cast<std::size_t>(index)];
  check(PMPI_Cancel(&request));
  check(PMPI_Wait(&request, MPI_STATUS_IGNORE));
  pieces_.erase(found);
  pieces_under_way_.erase(pieces_under_way_.begin() + index);
}

bool library_carrier::poll(listener& to) {
  [[maybe_unused]] const abi::without_yields looking;
  const bool any = poll_headers(to);
  poll_sends();
  return (!pieces_.empty() && poll_pieces(to)) || any;
}

bool library_carrier::poll_headers(listener& to) {
  int done = 0;
  int indices[receives];
  MPI_Status statuses[receives];
  check(PMPI_Testsome(static_cast<int>(receives), arriving_.data(), &done, indices, statuses));
  for (int i = 0; i < done; ++i) {
    const auto slot = static_cast<std::size_t>(indices[i]);
    const std::byte* const bytes = room_.data() + slot * most_bytes;
    message_header header;
    std::memcpy(&header, bytes, sizeof header);
    to.arrived(statuses[i].MPI_SOURCE, header, {bytes + sizeof header, bytes_of(statuses[i]) - sizeof header});
    post(slot);
  }
  return done > 0;
}

void library_carrier::poll_sends() {
  if (sending_.empty()) return;
  int done = 0;
  indices_.resize(sending_.size());
  check(PMPI_Testsome(static_cast<int>(sending_.size()), sending_.data(), &done, indices_.data(), MPI_STATUSES_IGNORE));
  if (done <= 0) return;
  indices_.resize(static_cast<std::size_t>(done));
  std::ranges::sort(indices_);
  for (const int each : indices_) bytes_under_way_ -= sent_[static_cast<std::size_t>(each)].bytes;
  erase_indices(indices_, sending_, sent_);
}

bool library_carrier::poll_pieces(listener& to) {
  int done = 0;
  indices_.resize(pieces_.size());
  check(PMPI_Testsome(static_cast<int>(pieces_.size()), pieces_under_way_.data(), &done, indices_.data(),
                      MPI_STATUSES_IGNORE));
  if (done <= 0) return false;
  std::vector<piece> ended;
  indices_.resize(static_cast<std::size_t>(done));
  for (const int each : indices_) ended.push_back(pieces_[static_cast<std::size_t>(each)]);
  std::ranges::sort(indices_);
  erase_indices(indices_, pieces_under_way_, pieces_);
  for (const piece& each : ended) {
    if (each.is_sent)
      to.piece_sent(each.ticket);
    else
      to.piece_received(each.ticket);
  }
  return true;
}

}  // namespace tri::mpi
