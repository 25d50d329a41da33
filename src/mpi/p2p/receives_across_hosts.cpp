#include "mpi/p2p/receives_across_hosts.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "mpi/abi/abi.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

// The library is asked in each so many steps of a wait, and before a sleep.
constexpr unsigned steps_between_questions = 8;

std::size_t bytes_of(const MPI_Status& status) {
  int bytes = 0;
  PMPI_Get_elements(&status, MPI_BYTE, &bytes);
  return bytes == MPI_UNDEFINED ? static_cast<std::size_t>(INT_MAX) : static_cast<std::size_t>(bytes);
}

int source_of(const transfer_arguments& arguments) {
  return arguments.peer == any_source ? MPI_ANY_SOURCE : arguments.peer;
}
int tag_of(const transfer_arguments& arguments) { return arguments.tag == any_tag ? MPI_ANY_TAG : arguments.tag; }

}  // namespace

// ---- of a communicator

receives_across_hosts::~receives_across_hosts() { std::erase(all_waiting_, this); }

bool receives_across_hosts::must_wait(const receive_pattern& pattern) const {
  return std::ranges::any_of(waiting_, [&](const auto* each) { return each->pattern().overlaps(pattern); }) ||
         std::ranges::any_of(unclaimed_, [&](const arrived& each) { return each.is_for(pattern); });
}

// An unclaimed message comes before those of the library.
void receives_across_hosts::add(session& in, receive_across_hosts& one) {
  if (all_waiting_.empty()) in.set_advance(session::advancing::receives_across_hosts, &advance_all);
  if (waiting_.empty()) all_waiting_.push_back(this);
  waiting_.push_back(&one);
  const auto there = find_unclaimed(one.pattern());
  if (there == unclaimed_.end()) return;
  const arrived first = *there;
  unclaimed_.erase(there);
  give(in, first);
}

void receives_across_hosts::remove(const receive_across_hosts& one) {
  std::erase(waiting_, &one);
  if (waiting_.empty()) std::erase(all_waiting_, this);
  if (session* const in = session::active(); in != nullptr && all_waiting_.empty())
    in->set_advance(session::advancing::receives_across_hosts, nullptr);
}

bool receives_across_hosts::advance_all(bool before_sleep) {
  if (!before_sleep && ++steps_ % steps_between_questions != 0) return false;
  session& in = *session::active();
  for (std::size_t i = 0; i < all_waiting_.size(); ++i) all_waiting_[i]->ask_library(in);
  return false;
}

// The next message from another host, whatever its tag: those of one sender come out of the library in their order, and
// unclaimed ones come before what the library still has. False: there is none.
bool receives_across_hosts::take_next(session& in, int source) {
  [[maybe_unused]] const abi::without_yields looking;
  for (const receive_across_hosts* const each : waiting_)
    if (each->pattern().source != source) source = MPI_ANY_SOURCE;
  arrived found;
  int flag = 0;
  PMPI_Improbe(source, MPI_ANY_TAG, comm_, &flag, &found.message, &found.status);
  if (flag != 0) give(in, found);
  return flag != 0;
}

void receives_across_hosts::ask_library(session& in) {
  while (has_waiting() && take_next(in, waiting_[0]->pattern().source)) {
  }
}

// While receives wait, what comes may be theirs.
bool receives_across_hosts::has_unclaimed(session& in, const receive_pattern& pattern) {
  while (find_unclaimed(pattern) == unclaimed_.end())
    if (!has_waiting() || !take_next(in, pattern.source)) return false;
  return true;
}

void receives_across_hosts::give(session& in, const arrived& one) {
  for (std::size_t i = 0; i < waiting_.size();) {
    receive_across_hosts& each = *waiting_[i];
    if (!one.is_for(each.pattern())) {
      ++i;
      continue;
    }
    if (!each.withdraw_here(in)) continue;  // it has a message of this host, and has been removed
    each.receive(one);
    return;
  }
  unclaimed_.push_back(one);
}

std::vector<receives_across_hosts::arrived>::iterator receives_across_hosts::find_unclaimed(
    const receive_pattern& pattern) {
  return std::ranges::find_if(unclaimed_, [&](const arrived& each) { return each.is_for(pattern); });
}

bool receives_across_hosts::find(session& in, const receive_pattern& pattern, MPI_Status& found) {
  if (has_unclaimed(in, pattern)) {
    found = find_unclaimed(pattern)->status;
    return true;
  }
  if (has_waiting()) return false;
  [[maybe_unused]] const abi::without_yields looking;
  int flag = 0;
  PMPI_Iprobe(pattern.source, pattern.tag, comm_, &flag, &found);
  return flag != 0;
}

bool receives_across_hosts::take(session& in, const receive_pattern& pattern, MPI_Message& message, MPI_Status& found) {
  if (has_unclaimed(in, pattern)) {
    const auto there = find_unclaimed(pattern);
    message = there->message;
    found = there->status;
    unclaimed_.erase(there);
    return true;
  }
  if (has_waiting()) return false;
  [[maybe_unused]] const abi::without_yields looking;
  int flag = 0;
  PMPI_Improbe(pattern.source, pattern.tag, comm_, &flag, &message, &found);
  return flag != 0;
}

// ---- one receive

receive_across_hosts::receive_across_hosts(session& in, communicator& comm, const transfer_arguments& arguments)
    : in_(in), comm_(comm), arguments_(arguments) {
  communicators::hold(comm_);
  if (arguments_.peer == any_source) here_.begin(in_, arguments_, comm_);
  comm_.across->add(in_, *this);
  if (!has_local_message(in_)) comm_.across->ask_library(in_);
}

receive_across_hosts::~receive_across_hosts() {
  if (state_ == state::waiting) cancel(in_);
  if (state_ == state::has_local) here_.finish(in_, arguments_);
  int error = MPI_SUCCESS;
  if (state_ == state::from_library) finish_from_library(error);
  communicators::release(comm_);
}

receive_pattern receive_across_hosts::pattern() const { return {source_of(arguments_), tag_of(arguments_)}; }

// Then it does not wait any more.
bool receive_across_hosts::has_local_message(session& in) {
  if (state_ != state::waiting || arguments_.peer != any_source || !here_.is_done(in)) return state_ != state::waiting;
  state_ = state::has_local;
  comm_.across->remove(*this);
  return true;
}

// It takes no message of this host any more. False: it has one.
bool receive_across_hosts::withdraw_here(session& in) {
  if (arguments_.peer != any_source) return true;
  // A small message may have been received without a record, which cannot be cancelled.
  if (!here_.is_done(in) && here_.cancel(in, arguments_, comm_)) {
    here_.finish(in, arguments_);
    return true;
  }
  state_ = state::has_local;
  comm_.across->remove(*this);
  return false;
}

// As bytes: the program may have freed the type.
void receive_across_hosts::receive(const receives_across_hosts::arrived& one) {
  comm_.across->remove(*this);
  state_ = state::from_library;
  bytes_ = bytes_of(one.status);
  MPI_Message message = one.message;
  if (bytes_ >= static_cast<std::size_t>(INT_MAX)) {
    bytes_ = 0;
    PMPI_Imrecv(arguments_.buffer, static_cast<int>(arguments_.count), arguments_.type.handle, &message, &library_);
    return;
  }
  const bool is_direct = arguments_.type.is_plain && bytes_ <= arguments_.bytes();
  if (!is_direct) staged_.resize(bytes_);
  PMPI_Imrecv(is_direct ? arguments_.buffer : staged_.data(), static_cast<int>(bytes_), MPI_BYTE, &message, &library_);
}

bool receive_across_hosts::is_done(session& in) {
  if (state_ == state::waiting && !has_local_message(in)) comm_.across->ask_library(in);
  switch (state_) {
    case state::waiting:
      return false;
    case state::has_local:  // it may still be copied
      return here_.is_done(in);
    case state::from_library:
      return is_done_in_library(library_);
    default:
      return true;
  }
}

void receive_across_hosts::finish_from_library(int& error) {
  state_ = state::finished;
  {
    const guard_release released(&in_);
    error = PMPI_Wait(&library_, &status_);
  }
  if (staged_.empty()) return;
  const std::size_t fits = std::min(staged_.size(), arguments_.bytes());
  if (arguments_.type.is_plain)
    std::memcpy(arguments_.buffer, staged_.data(), fits);
  else
    unpack(staged_.data(), fits, arguments_.buffer, arguments_.count, arguments_.type);
  if (fits == staged_.size()) return;
  abi::set_count(status_, fits, false);
  if (error == MPI_SUCCESS) error = MPI_ERR_TRUNCATE;
}

int receive_across_hosts::finish(session& in) {
  int error = MPI_SUCCESS;
  if (state_ == state::from_library) {
    finish_from_library(error);
  } else if (state_ == state::has_local) {
    error = here_.result(arguments_, &status_);
    here_.finish(in, arguments_);
    state_ = state::finished;
  }
  return error;
}

void receive_across_hosts::set_status(MPI_Status* status) const {
  if (state_ != state::cancelled) return copy_status(status_, status);
  set_empty(status);
  if (status != MPI_STATUS_IGNORE) abi::set_count(*status, 0, true);
}

void receive_across_hosts::cancel(session& in) {
  if (state_ != state::waiting || !withdraw_here(in)) return;
  comm_.across->remove(*this);
  state_ = state::cancelled;
}

// ---- the library's own

MPI_Request begin_in_library(const transfer_arguments& a) {
  MPI_Request request = MPI_REQUEST_NULL;
  const bool is_packed = a.type.handle == MPI_BYTE;  // one element of many bytes
#if MPI_VERSION >= 4
  const MPI_Count count = is_packed ? static_cast<MPI_Count>(a.bytes()) : a.count;
#define TRIREME_BEGIN(what) PMPI_I##what##_c
#else
  const int count = static_cast<int>(is_packed ? static_cast<MPI_Count>(a.bytes()) : a.count);
#define TRIREME_BEGIN(what) PMPI_I##what
#endif
  if (!a.is_send) {
    TRIREME_BEGIN(recv)(a.buffer, count, a.type.handle, source_of(a), tag_of(a), a.comm, &request);
    return request;
  }
  switch (a.mode) {
    case send_mode::standard:
      TRIREME_BEGIN(send)(a.buffer, count, a.type.handle, a.peer, a.tag, a.comm, &request);
      break;
    case send_mode::synchronous:
      TRIREME_BEGIN(ssend)(a.buffer, count, a.type.handle, a.peer, a.tag, a.comm, &request);
      break;
    case send_mode::buffered:
      TRIREME_BEGIN(bsend)(a.buffer, count, a.type.handle, a.peer, a.tag, a.comm, &request);
      break;
  }
#undef TRIREME_BEGIN
  return request;
}

}  // namespace tri::mpi
