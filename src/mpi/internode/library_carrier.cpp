#include "mpi/internode/library_carrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "mpi/abi/abi.hpp"
#include "mpi/startup/job_abort.hpp"

namespace tri::mpi {
namespace {

constexpr int tag_of_headers = 0;  // those of pieces follow
constexpr std::size_t most_bytes = sizeof(message_header) + message_sizes{}.most_eager;
constexpr std::size_t receives = 8;
// Of a piece in one message: like the largest header with its data, so that the library waits for no answer of the
// receiver, which over TCP takes longer than its copy.
constexpr std::size_t bytes_of_part = message_sizes{}.most_eager;
constexpr std::size_t most_sends_without_a_look = 16;
constexpr unsigned polls_between_looks_at_all = 16;

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

MPI_Comm library_carrier::make_communicator(MPI_Comm of) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(of, &before);
  PMPI_Comm_set_errhandler(of, MPI_ERRORS_RETURN);
  PMPI_Comm_group(of, &members);
  if (PMPI_Comm_create(of, members, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
  PMPI_Group_free(&members);
  PMPI_Comm_set_errhandler(of, before);
  PMPI_Errhandler_free(&before);
  if (made != MPI_COMM_NULL) PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

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
  abort_job(fmt::format("a message between hosts failed: {}", text));
}

void library_carrier::post(std::size_t slot) {
  check(PMPI_Irecv(room_.data() + slot * most_bytes, static_cast<int>(most_bytes), MPI_BYTE, MPI_ANY_SOURCE,
                   tag_of_headers, comm_, &arriving_[slot]));
  order_.push_back(slot);
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

// Both sides divide it alike. Its messages have one tag, because the library keeps those of two ranks in order.
template <class Byte, class Begin>
void library_carrier::begin_piece(std::span<Byte> data, std::uint64_t ticket, bool is_sent, Begin&& begin) {
  piece& made = pieces_.emplace_back(piece{ticket, is_sent, 0});
  do {
    const std::span<Byte> part = data.first(std::min(data.size(), bytes_of_part));
    data = data.subspan(part.size());
    ++made.parts;
    ticket_of_part_.push_back(ticket);
    check(begin(part.data(), static_cast<int>(part.size()), &parts_under_way_.emplace_back(MPI_REQUEST_NULL)));
  } while (!data.empty());
}

void library_carrier::send_piece(int to, int tag, std::span<const std::byte> data, std::uint64_t ticket) {
  begin_piece(data, ticket, true, [&](const std::byte* part, int bytes, MPI_Request* request) {
    return PMPI_Isend(part, bytes, MPI_BYTE, to, tag + 1, comm_, request);
  });
}

void library_carrier::receive_piece(int from, int tag, std::span<std::byte> into, std::uint64_t ticket) {
  begin_piece(into, ticket, false, [&](std::byte* part, int bytes, MPI_Request* request) {
    return PMPI_Irecv(part, bytes, MPI_BYTE, from == any_source ? MPI_ANY_SOURCE : from, tag + 1, comm_, request);
  });
}

void library_carrier::cancel_receive(std::uint64_t ticket) {
  for (std::size_t i = ticket_of_part_.size(); i-- > 0;) {
    if (ticket_of_part_[i] != ticket) continue;
    check(PMPI_Cancel(&parts_under_way_[i]));
    check(PMPI_Wait(&parts_under_way_[i], MPI_STATUS_IGNORE));
    const int index = static_cast<int>(i);
    erase_indices({&index, 1}, parts_under_way_, ticket_of_part_);
  }
  pieces_.erase(std::ranges::find(pieces_, ticket, &piece::ticket));
}

bool library_carrier::poll(listener& to) {
  [[maybe_unused]] const abi::without_yields looking;
  const bool any = poll_headers(to);
  poll_sends();
  return (!pieces_.empty() && poll_pieces(to)) || any;
}

// The library matches receives in the order in which they were posted, so nearly always the first one is complete
// first. MPI_Test looks at it again after the library has made progress, as Open MPI's MPI_Testsome does not: by that
// one a message would be heard of one poll, and so one yield of the core, later. All are looked at now and then,
// because a message that its sender does not move on must not hold up those of others.
bool library_carrier::poll_headers(listener& to) {
  for (std::size_t count = 0; count < receives; ++count) {
    int is_there = 0;
    MPI_Status status;
    const std::size_t slot = order_.front();
    check(PMPI_Test(&arriving_[slot], &is_there, &status));
    if (is_there == 0) return count > 0 || (++vain_polls_ % polls_between_looks_at_all == 0 && look_at_all(to));
    take_header(to, slot, status);
  }
  return true;
}

bool library_carrier::look_at_all(listener& to) {
  int done = 0;
  int indices[receives];
  MPI_Status statuses[receives];
  check(PMPI_Testsome(static_cast<int>(receives), arriving_.data(), &done, indices, statuses));
  for (int i = 0; i < done; ++i) take_header(to, static_cast<std::size_t>(indices[i]), statuses[i]);
  return done > 0;
}

void library_carrier::take_header(listener& to, std::size_t slot, const MPI_Status& status) {
  const std::byte* const bytes = room_.data() + slot * most_bytes;
  message_header header;
  std::memcpy(&header, bytes, sizeof header);
  to.arrived(status.MPI_SOURCE, header, {bytes + sizeof header, bytes_of(status) - sizeof header});
  std::erase(order_, slot);
  post(slot);
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
  indices_.resize(parts_under_way_.size());
  check(PMPI_Testsome(static_cast<int>(parts_under_way_.size()), parts_under_way_.data(), &done, indices_.data(),
                      MPI_STATUSES_IGNORE));
  if (done <= 0) return false;
  std::vector<piece> ended;
  indices_.resize(static_cast<std::size_t>(done));
  std::ranges::sort(indices_);
  for (const int each : indices_) {
    const auto of = std::ranges::find(pieces_, ticket_of_part_[static_cast<std::size_t>(each)], &piece::ticket);
    if (--of->parts > 0) continue;
    ended.push_back(*of);
    pieces_.erase(of);
  }
  erase_indices(indices_, parts_under_way_, ticket_of_part_);
  for (const piece& each : ended) {
    if (each.is_sent)
      to.piece_sent(each.ticket);
    else
      to.piece_received(each.ticket);
  }
  return true;
}

}  // namespace tri::mpi
