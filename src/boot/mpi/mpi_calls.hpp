// The calls of an MPI library that a process uses as a transport, behind one interface: MPI's types and constants
// differ from library to library, so each has a plug-in of its own (mpi_plug_in.cpp) that is loaded at run time, and
// its users are compiled once. Messages use two-sided calls only, on two communicators of our own.
//
// All functions but abort() may be called by any thread; the implementation serializes them, so MPI_THREAD_SERIALIZED
// is enough. Errors of calls are thrown as std::runtime_error with the library's text; errors of started operations are
// in their completion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tri::boot {

enum class mpi_thread_level : std::uint8_t { single, funneled, serialized, multiple };

/// Which communicator. Messages of one never match receives of another.
enum class mpi_channel : std::uint8_t { small, body };

/// A pending operation. 0: none.
using mpi_request = std::uint64_t;

inline constexpr int mpi_any = -1;  // a source or a tag

struct mpi_completion {
  std::uint32_t index = 0;  // of the request among those given to test_some()
  int problem = 0;          // 0: none; for text_of()
  int source = mpi_any;
  int tag = mpi_any;
  std::size_t bytes = 0;
  bool cancelled = false;
};

class mpi_calls {
 public:
  /// The version of this interface, which a plug-in has to give back: both are built together, or it is refused.
  static constexpr int version = 2;

  mpi_calls() = default;
  mpi_calls(const mpi_calls&) = delete;
  mpi_calls& operator=(const mpi_calls&) = delete;
  virtual ~mpi_calls() = default;

  virtual const char* library() const = 0;  // name and version, for messages
  virtual mpi_thread_level thread_level() const = 0;
  /// The program has initialized MPI before, calls it itself, and ends it.
  virtual bool is_of_program() const { return false; }
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// The memory is the library's until the request is complete. At most INT_MAX bytes.
  virtual mpi_request send(mpi_channel channel, int to, int tag, std::span<const std::byte> bytes) = 0;
  virtual mpi_request receive(mpi_channel channel, int from, int tag, std::span<std::byte> place) = 0;
  /// True: the request is complete, and 0 now.
  virtual bool test(mpi_request& request, mpi_completion& completion) = 0;
  /// Those that are complete become 0 and have an entry in `done`, which must not be shorter. Returns how many.
  virtual std::size_t test_some(std::span<mpi_request> requests, std::span<mpi_completion> done) = 0;
  /// Of a receive: it completes soon, cancelled or, when a message had matched it before, with that message.
  virtual void cancel(mpi_request request) = 0;
  virtual std::string text_of(int problem) const = 0;

  /// Collective, by one thread at a time: what each process gave, by rank. Returns when all have called it. Others may
  /// use the library meanwhile.
  virtual std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> own) = 0;

  /// Collective; nothing may be called after it.
  virtual void finalize() = 0;
  /// Ends the job. Any thread, also while another one is stuck inside the library.
  virtual void abort(int exit_status) = 0;
};

/// The function that a plug-in exports as `trireme_start_mpi`: starts MPI in this process. Null when it cannot, with
/// the reason in `problem`. The object lives until the process ends.
using start_mpi_function = mpi_calls*(int version, char* problem, std::size_t problem_bytes);

}  // namespace tri::boot
