// Pending operations, each with its owner's data. Each poll tests a part of them, round-robin, so that many of them do
// not make a poll long. Used by mpi_conduit, on the thread that is at the wire.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "boot/mpi/mpi_calls.hpp"

namespace tri::wire {

template <class Owner>
class request_table {
 public:
  bool empty() const { return requests_.empty(); }

  void add(boot::mpi_request request, Owner* owner) {
    requests_.push_back(request);
    owners_.push_back(owner);
  }

  /// Calls `complete(owner, completion)`, which may add and cancel, for those that are complete; an owner need not
  /// outlive the last of its own. True if there were some.
  template <class Complete>
  bool collect(boot::mpi_calls& mpi, const Complete& complete) {
    if (requests_.empty()) return false;
    if (from_ >= requests_.size()) from_ = 0;
    const std::size_t count = std::min(requests_.size() - from_, most_tested);
    std::array<boot::mpi_completion, most_tested> done;
    const std::size_t found = mpi.test_some(std::span(requests_).subspan(from_, count), done);
    const std::size_t first = from_;
    for (std::size_t i = 0; i < found; ++i) complete(*owners_[first + done[i].index], done[i]);
    if (found == 0) {
      from_ += count;
      return false;
    }
    std::size_t kept = first;
    for (std::size_t i = first; i < requests_.size(); ++i) {
      if (requests_[i] == 0) continue;
      requests_[kept] = requests_[i];
      owners_[kept++] = owners_[i];
    }
    requests_.resize(kept);
    owners_.resize(kept);
    from_ = first + count - found;
    return true;
  }

  /// Cancels the receives of those that `which(owner)` names. Inside `collect` some are complete (0): MPI has them no
  /// more, and their owners may be gone.
  template <class Which>
  void cancel(boot::mpi_calls& mpi, const Which& which) {
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i] != 0 && which(*owners_[i])) mpi.cancel(requests_[i]);
  }

 private:
  static constexpr std::size_t most_tested = 64;
  std::vector<boot::mpi_request> requests_;
  std::vector<Owner*> owners_;
  std::size_t from_ = 0;  // tested next
};

}  // namespace tri::wire
