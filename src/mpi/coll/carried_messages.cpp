#include "mpi/coll/carried_messages.hpp"

#include "mpi/abi/abi.hpp"

namespace tri::mpi::collectives {
namespace {

int class_of(int error) {
  int found = MPI_ERR_OTHER;
  if (error != MPI_SUCCESS) PMPI_Error_class(error, &found);
  return error == MPI_SUCCESS ? MPI_SUCCESS : found;
}

}  // namespace

template <class Begin>
std::size_t carried_messages::add(std::uint64_t bytes, bool is_receive, Begin&& begin) {
  all_.push_back({bytes, is_receive});
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int error = begin(&request); error != MPI_SUCCESS) {
    end(all_.back(), class_of(error));
  } else {
    open_.push_back(request);
    number_of_.push_back(all_.size() - 1);
  }
  return all_.size() - 1;
}

std::size_t carried_messages::begin_send(const void* at, MPI_Count count, MPI_Datatype type, int to, int tag) {
  return add(0, false, [&](MPI_Request* request) {
#if MPI_VERSION >= 4
    return PMPI_Isend_c(at, count, type, to, tag, carrier_, request);
#else
    return PMPI_Isend(at, static_cast<int>(count), type, to, tag, carrier_, request);
#endif
  });
}

std::size_t carried_messages::begin_receive(void* at, MPI_Count count, MPI_Datatype type, std::uint64_t bytes, int from,
                                            int tag) {
  return add(bytes, true, [&](MPI_Request* request) {
#if MPI_VERSION >= 4
    return PMPI_Irecv_c(at, count, type, from, tag, carrier_, request);
#else
    return PMPI_Irecv(at, static_cast<int>(count), type, from, tag, carrier_, request);
#endif
  });
}

void carried_messages::end(message& one, int error) {
  one.is_under_way = false;
  one.error = error;
}

void carried_messages::poll() {
  if (open_.empty()) return;
  [[maybe_unused]] const abi::without_yields looking;
  int done = 0;
  indices_.resize(open_.size());
  statuses_.resize(open_.size());
  const int error =
      PMPI_Testsome(static_cast<int>(open_.size()), open_.data(), &done, indices_.data(), statuses_.data());
  if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) {  // it says nothing of each
    for (const std::size_t number : number_of_) end(all_[number], class_of(error));
    open_.clear();
    number_of_.clear();
    return;
  }
  for (int i = 0; i < done && done != MPI_UNDEFINED; ++i) {
    const auto place = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    message& one = all_[number_of_[place]];
    int of_this = error == MPI_ERR_IN_STATUS ? class_of(status.MPI_ERROR) : MPI_SUCCESS;
    if (of_this == MPI_SUCCESS && one.is_receive) {
      MPI_Count came = 0;
#if MPI_VERSION >= 4
      PMPI_Get_elements_c(&status, MPI_BYTE, &came);
#else
      PMPI_Get_elements_x(&status, MPI_BYTE, &came);
#endif
      if (static_cast<std::uint64_t>(came) != one.bytes) of_this = MPI_ERR_OTHER;
    }
    end(one, of_this);
  }
  // What has ended is null now.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i] == MPI_REQUEST_NULL) continue;
    open_[kept] = open_[i];
    number_of_[kept++] = number_of_[i];
  }
  open_.resize(kept);
  number_of_.resize(kept);
}

}  // namespace tri::mpi::collectives
