#include "mpi/p2p/receives_across_hosts.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "mpi/abi/abi.hpp"
#include "mpi/startup/progress_thread.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

// The library is asked in each so many steps of a wait, and before a sleep.
constexpr unsigned steps_between_questions = 8;

// More than an int can say are INT_MAX where the library has no other count.
std::size_t bytes_of(const MPI_Status& status) {
#if MPI_VERSION >= 4
  MPI_Count bytes = 0;
  PMPI_Get_elements_c(&status, MPI_BYTE, &bytes);
#else
  int bytes = 0;
  PMPI_Get_elements(&status, MPI_BYTE, &bytes);
  if (bytes == MPI_UNDEFINED) bytes = INT_MAX;
#endif
  return static_cast<std::size_t>(bytes);
}

int source_of(const transfer_arguments& arguments) {
  return arguments.peer == any_source ? MPI_ANY_SOURCE : arguments.peer;
}
int tag_of(const transfer_arguments& arguments) { return arguments.tag == any_tag ? MPI_ANY_TAG : arguments.tag; }

}  // namespace

// ---- of a communicator

receives_across_hosts::~receives_across_hosts() { std::erase(all_waiting_, this); }

bool receives_across_hosts::must_wait(const receive_pattern& pattern) const {
  return std::ranges::any_of(waiting_, [&](const auto* each) { return each->pattern().overlaps(pattern); });
}

void receives_across_hosts::add(session& in, receive_across_hosts& one) {
  if (all_waiting_.empty()) in.set_advance(session::advancing::receives_across_hosts, &advance_all);
  if (waiting_.empty()) all_waiting_.push_back(this);
  waiting_.push_back(&one);
  in.begin_polled_operation();
}

void receives_across_hosts::remove(const receive_across_hosts& one) {
  std::erase(waiting_, &one);
  if (waiting_.empty()) std::erase(all_waiting_, this);
  session* const in = session::active();
  if (in == nullptr) return;
  in->end_polled_operation();
  if (all_waiting_.empty()) in->set_advance(session::advancing::receives_across_hosts, nullptr);
}

// The progress thread leaves the library alone.
bool receives_across_hosts::advance_all(bool before_sleep) {
  session* const in = session::active();
  if (in == nullptr || progress_thread::is_this()) return false;
  if (!before_sleep && ++steps_ % steps_between_questions != 0) return false;
  bool worked = false;
  for (std::size_t i = 0; i < all_waiting_.size(); ++i)
    if (all_waiting_[i]->serve(*in)) worked = true;
  return worked;
}

bool receives_across_hosts::probe(const receive_pattern& pattern, MPI_Status& found) const {
  [[maybe_unused]] const abi::without_yields looking;
  int flag = 0;
  PMPI_Iprobe(pattern.source, pattern.tag, comm_, &flag, &found);
  return flag != 0;
}

bool receives_across_hosts::is_first_taker(std::size_t index, const MPI_Status& message) const {
  return std::none_of(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(index),
                      [&](const auto* each) { return each->pattern().takes(message.MPI_SOURCE, message.MPI_TAG); });
}

// An earlier receive takes the same, and there was nothing for it.
bool receives_across_hosts::is_probed_before(std::size_t index) const {
  return std::any_of(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(index),
                     [&](const auto* each) { return each->pattern() == waiting_[index]->pattern(); });
}

// In the order of the receives. A message may have come for an earlier one after that was probed for: then it is the
// turn of the first again, because another one of the same sender may lie before it.
bool receives_across_hosts::serve(session& in) {
  bool worked = false;
  for (std::size_t i = 0; i < waiting_.size();) {
    receive_across_hosts& each = *waiting_[i];
    MPI_Status found;
    if (each.has_local_message(in)) {  // and has left
      worked = true;
      continue;
    }
    const bool has_message = !is_probed_before(i) && probe(each.pattern(), found);
    const bool is_its_own = has_message && is_first_taker(i, found);
    const bool has_received = is_its_own && each.receive(in, found);
    worked = worked || has_received;
    const bool is_over = !has_message || (is_its_own && !has_received);
    i = is_over ? i + 1 : 0;
  }
  return worked;
}

bool receives_across_hosts::find(session& in, const receive_pattern& pattern, MPI_Status& found) {
  do {
    serve(in);
    if (!probe(pattern, found)) return false;
  } while (!is_first_taker(waiting_.size(), found));
  return true;
}

bool receives_across_hosts::take(session& in, const receive_pattern& pattern, MPI_Message& message, MPI_Status& found) {
  if (!find(in, pattern, found)) return false;
  [[maybe_unused]] const abi::without_yields looking;
  int flag = 0;
  PMPI_Improbe(found.MPI_SOURCE, found.MPI_TAG, comm_, &flag, &message, &found);
  return flag != 0;
}

// ---- one receive

receive_across_hosts::receive_across_hosts(session& in, communicator& comm, const transfer_arguments& arguments)
    : in_(in), comm_(comm), arguments_(arguments) {
  communicators::hold(comm_);
  if (arguments_.peer == any_source) here_.begin(in_, arguments_, comm_);
  comm_.across->add(in_, *this);
  if (!has_local_message(in_)) comm_.across->serve(in_);
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

// As bytes: the program may have freed the type. False: it does not, and has left where it has a message of this host.
bool receive_across_hosts::receive(session& in, const MPI_Status& of) {
  if (!withdraw_here(in)) return false;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int flag = 0;
  PMPI_Improbe(of.MPI_SOURCE, of.MPI_TAG, arguments_.comm, &flag, &message, &status);
  if (flag == 0) {  // the library has used it itself
    if (arguments_.peer == any_source) here_.begin(in, arguments_, comm_);
    return false;
  }
  comm_.across->remove(*this);
  state_ = state::from_library;
  bytes_ = bytes_of(status);
  const bool is_direct = arguments_.type.is_plain && bytes_ <= arguments_.bytes();
  if (!is_direct) staged_.resize(bytes_);
  void* const into = is_direct ? arguments_.buffer : staged_.data();
#if MPI_VERSION >= 4
  PMPI_Imrecv_c(into, static_cast<MPI_Count>(bytes_), MPI_BYTE, &message, &library_);
#else
  if (bytes_ < static_cast<std::size_t>(INT_MAX))
    PMPI_Imrecv(into, static_cast<int>(bytes_), MPI_BYTE, &message, &library_);
  else {
    staged_.clear();
    PMPI_Imrecv(arguments_.buffer, static_cast<int>(arguments_.count), arguments_.type.handle, &message, &library_);
  }
#endif
  return true;
}

bool receive_across_hosts::is_done(session& in) {
  if (state_ == state::waiting && !has_local_message(in)) comm_.across->serve(in);
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
  {
    const guard_release released(&in_);
    error = PMPI_Wait(&library_, &status_);
  }
  state_ = state::finished;
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

int begin_in_library(const transfer_arguments& a, MPI_Request& request) {
  const bool is_packed = a.type.handle == MPI_BYTE;  // one element of many bytes
#if MPI_VERSION >= 4
  const MPI_Count count = is_packed ? static_cast<MPI_Count>(a.bytes()) : a.count;
#define TRIREME_BEGIN(what) PMPI_I##what##_c
#else
  const int count = static_cast<int>(is_packed ? static_cast<MPI_Count>(a.bytes()) : a.count);
#define TRIREME_BEGIN(what) PMPI_I##what
#endif
  if (!a.is_send) return TRIREME_BEGIN(recv)(a.buffer, count, a.type.handle, source_of(a), tag_of(a), a.comm, &request);
  switch (a.mode) {
    case send_mode::synchronous:
      return TRIREME_BEGIN(ssend)(a.buffer, count, a.type.handle, a.peer, a.tag, a.comm, &request);
    case send_mode::buffered:
      return TRIREME_BEGIN(bsend)(a.buffer, count, a.type.handle, a.peer, a.tag, a.comm, &request);
    default:
      return TRIREME_BEGIN(send)(a.buffer, count, a.type.handle, a.peer, a.tag, a.comm, &request);
  }
#undef TRIREME_BEGIN
}

}  // namespace tri::mpi
