// The plug-in: mpi_calls over one MPI library. Compiled once for each, with its mpi.h, into a shared library of its own
// that a process loads when --tri-wire is mpi. It contains no other code of Trireme.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "boot/mpi/mpi_calls.hpp"

namespace tri::boot {
namespace {

static_assert(sizeof(MPI_Request) <= sizeof(mpi_request));

mpi_request packed(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return 0;
  // One more, because a library may use 0 for a request; MPI_REQUEST_NULL is some other value.
  std::uint64_t bits = 0;
  std::memcpy(&bits, &request, sizeof(MPI_Request));
  return bits + 1;
}

MPI_Request unpacked(mpi_request request) {
  if (request == 0) return MPI_REQUEST_NULL;
  const std::uint64_t bits = request - 1;
  MPI_Request handle = MPI_REQUEST_NULL;
  std::memcpy(&handle, &bits, sizeof(MPI_Request));
  return handle;
}

std::string error_text(int problem) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(problem, text, &length) != MPI_SUCCESS) return "error " + std::to_string(problem);
  return {text, static_cast<std::size_t>(length)};
}

void check(int result, const char* call) {
  if (result != MPI_SUCCESS) throw std::runtime_error(std::string(call) + ": " + error_text(result));
}

class library_calls final : public mpi_calls {
 public:
  library_calls();

  const char* library() const override { return name_.c_str(); }
  mpi_thread_level thread_level() const override { return level_; }
  bool is_of_program() const override { return !begun_here_; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  mpi_request send(mpi_channel channel, int to, int tag, std::span<const std::byte> bytes) override;
  mpi_request receive(mpi_channel channel, int from, int tag, std::span<std::byte> place) override;
  bool test(mpi_request& request, mpi_completion& completion) override;
  std::size_t test_some(std::span<mpi_request> requests, std::span<mpi_completion> done) override;
  void cancel(mpi_request request) override;
  std::string text_of(int problem) const override {
    const std::lock_guard inside(one_at_a_time_);
    return error_text(problem);
  }
  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> own) override;
  void finalize() override;
  void abort(int exit_status) override;

 private:
  MPI_Comm of(mpi_channel channel) const { return channel == mpi_channel::small ? small_ : body_; }
  static void fill(mpi_completion& completion, const MPI_Status& status, int problem);
  void await(MPI_Request request, const char* call);

  mutable std::mutex one_at_a_time_;  // held in every call of the library
  std::string name_;
  mpi_thread_level level_ = mpi_thread_level::single;
  bool begun_here_ = false;
  int rank_ = 0;
  int size_ = 1;
  MPI_Comm small_ = MPI_COMM_NULL, body_ = MPI_COMM_NULL, meetings_ = MPI_COMM_NULL;
};

library_calls::library_calls() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (ended != 0) throw std::runtime_error("MPI has ended in this process");
  int provided = MPI_THREAD_SINGLE;
  if (begun == 0) {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    begun_here_ = true;
  } else {  // by the program, which ends it, too
    check(MPI_Query_thread(&provided), "MPI_Query_thread");
  }
  level_ = provided == MPI_THREAD_MULTIPLE     ? mpi_thread_level::multiple
           : provided == MPI_THREAD_SERIALIZED ? mpi_thread_level::serialized
           : provided == MPI_THREAD_FUNNELED   ? mpi_thread_level::funneled
                                               : mpi_thread_level::single;
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  name_.assign(text, std::strcspn(text, ",\n"));  // the rest describes the build
  std::replace(name_.begin(), name_.end(), '\t', ' ');
  constexpr std::string_view between = " Version: ";  // "MPICH Version: 4.0"
  if (const auto found = name_.find(between); found != std::string::npos)
    name_ = name_.substr(0, found) + " " + name_.substr(name_.find_first_not_of(' ', found + between.size()));
  for (MPI_Comm* const own : {&small_, &body_, &meetings_}) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, own), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  check(MPI_Comm_rank(small_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(small_, &size_), "MPI_Comm_size");
}

mpi_request library_calls::send(mpi_channel channel, int to, int tag, std::span<const std::byte> bytes) {
  const std::lock_guard inside(one_at_a_time_);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, of(channel), &request), "MPI_Isend");
  return packed(request);
}

mpi_request library_calls::receive(mpi_channel channel, int from, int tag, std::span<std::byte> place) {
  const std::lock_guard inside(one_at_a_time_);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(place.data(), static_cast<int>(place.size()), MPI_BYTE, from == mpi_any ? MPI_ANY_SOURCE : from,
                  tag == mpi_any ? MPI_ANY_TAG : tag, of(channel), &request),
        "MPI_Irecv");
  return packed(request);
}

void library_calls::fill(mpi_completion& completion, const MPI_Status& status, int problem) {
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  completion.problem = problem;
  completion.source = status.MPI_SOURCE;
  completion.tag = status.MPI_TAG;
  completion.bytes = count < 0 ? 0 : static_cast<std::size_t>(count);
  completion.cancelled = cancelled != 0;
}

bool library_calls::test(mpi_request& request, mpi_completion& completion) {
  const std::lock_guard inside(one_at_a_time_);
  MPI_Request handle = unpacked(request);
  MPI_Status status{};
  int done = 0;
  const int result = MPI_Test(&handle, &done, &status);
  if (done == 0 && result == MPI_SUCCESS) return false;
  fill(completion, status, result);
  request = 0;
  return true;
}

std::size_t library_calls::test_some(std::span<mpi_request> requests, std::span<mpi_completion> done) {
  constexpr std::size_t most = 64;
  MPI_Request handles[most];
  int indices[most];
  MPI_Status statuses[most];
  std::size_t found = 0;
  const std::lock_guard inside(one_at_a_time_);
  for (std::size_t from = 0; from < requests.size(); from += most) {
    const std::size_t count = std::min(most, requests.size() - from);
    for (std::size_t i = 0; i < count; ++i) handles[i] = unpacked(requests[from + i]);
    int complete = 0;
    const int result = MPI_Testsome(static_cast<int>(count), handles, &complete, indices, statuses);
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) check(result, "MPI_Testsome");
    if (complete == MPI_UNDEFINED) continue;
    for (int i = 0; i < complete; ++i) {
      mpi_completion& entry = done[found++];
      fill(entry, statuses[i], result == MPI_SUCCESS ? 0 : statuses[i].MPI_ERROR);
      entry.index = static_cast<std::uint32_t>(from + static_cast<std::size_t>(indices[i]));
      requests[entry.index] = 0;
    }
  }
  return found;
}

void library_calls::cancel(mpi_request request) {
  const std::lock_guard inside(one_at_a_time_);
  MPI_Request handle = unpacked(request);
  check(MPI_Cancel(&handle), "MPI_Cancel");
}

// Other calls may come in between, and the core is yielded: the awaited process may need it.
void library_calls::await(MPI_Request request, const char* call) {
  for (int tries = 0;; ++tries) {
    {
      const std::lock_guard inside(one_at_a_time_);
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
      if (done != 0) return;
    }
    if (tries < 1000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

std::vector<std::vector<std::byte>> library_calls::exchange(std::span<const std::byte> own) {
  const auto processes = static_cast<std::size_t>(size_);
  const int own_bytes = static_cast<int>(own.size());
  std::vector<int> bytes(processes), begins(processes);
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const std::lock_guard inside(one_at_a_time_);
    check(MPI_Iallgather(&own_bytes, 1, MPI_INT, bytes.data(), 1, MPI_INT, meetings_, &request), "MPI_Iallgather");
  }
  await(request, "MPI_Iallgather");
  std::vector<std::vector<std::byte>> result(processes);
  std::size_t all = 0;
  for (std::size_t rank = 0; rank < processes; ++rank) {
    begins[rank] = static_cast<int>(all);
    all += static_cast<std::size_t>(bytes[rank]);
  }
  if (all == 0) return result;
  std::vector<std::byte> gathered(all);
  {
    const std::lock_guard inside(one_at_a_time_);
    check(MPI_Iallgatherv(own.data(), own_bytes, MPI_BYTE, gathered.data(), bytes.data(), begins.data(), MPI_BYTE,
                          meetings_, &request),
          "MPI_Iallgatherv");
  }
  await(request, "MPI_Iallgatherv");
  for (std::size_t rank = 0; rank < processes; ++rank) {
    const auto first = gathered.begin() + begins[rank];
    result[rank].assign(first, first + bytes[rank]);
  }
  return result;
}

void library_calls::finalize() {
  const std::lock_guard inside(one_at_a_time_);
  for (MPI_Comm* const own : {&small_, &body_, &meetings_}) check(MPI_Comm_free(own), "MPI_Comm_free");
  if (begun_here_) check(MPI_Finalize(), "MPI_Finalize");
}

// A thread that hangs in the library must not keep the job alive.
void library_calls::abort(int exit_status) {
  const auto timeout = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::unique_lock inside(one_at_a_time_, std::defer_lock);
  while (!inside.try_lock() && std::chrono::steady_clock::now() < timeout)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  MPI_Abort(MPI_COMM_WORLD, exit_status);
}

}  // namespace
}  // namespace tri::boot

extern "C" [[gnu::visibility("default")]] tri::boot::mpi_calls* trireme_start_mpi(int version, char* problem,
                                                                                  std::size_t problem_bytes) {
  if (version != tri::boot::mpi_calls::version) {
    std::snprintf(problem, problem_bytes, "the plug-in is of another build of Trireme (version %d, not %d)",
                  tri::boot::mpi_calls::version, version);
    return nullptr;
  }
  try {
    return new tri::boot::library_calls;
  } catch (const std::exception& failure) {
    std::snprintf(problem, problem_bytes, "%s", failure.what());
    return nullptr;
  }
}
