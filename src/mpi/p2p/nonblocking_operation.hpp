// What an intercepted request may stand for besides a single message: several messages with a final step, or work done
// by other ranks. With the call guard.
#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <utility>

namespace tri::mpi {

class session;

/// Types and operations of the program that are needed until an operation has ended (held_handles).
using kept_handles = std::array<std::shared_ptr<void>, 2>;

class nonblocking_operation {
 public:
  nonblocking_operation() = default;
  nonblocking_operation(const nonblocking_operation&) = delete;
  nonblocking_operation& operator=(const nonblocking_operation&) = delete;
  virtual ~nonblocking_operation() = default;
  /// The rest is local to this process and done in `finish`: no other rank waits for it.
  virtual bool is_done(session& in) = 0;
  /// Once, when done. MPI_SUCCESS or the class of an error.
  virtual int finish(session& in) = 0;
  /// Whether the MPI library must be polled: it sends no wake-up.
  virtual bool asks_library() const { return false; }
  /// After `finish`. That of an operation without a message is empty.
  virtual void set_status(MPI_Status* status) const;
  /// If it still can be.
  virtual void cancel(session&) {}
  void keep(kept_handles handles) { kept_ = std::move(handles); }

 private:
  kept_handles kept_;
};

/// What a persistent request of more than one message starts again and again.
class persistent_operation {
 public:
  persistent_operation() = default;
  persistent_operation(const persistent_operation&) = delete;
  persistent_operation& operator=(const persistent_operation&) = delete;
  virtual ~persistent_operation() = default;
  /// MPI_SUCCESS, or the class of an error and nothing has begun.
  virtual int start(session& in, std::unique_ptr<nonblocking_operation>& begun) = 0;
};

}  // namespace tri::mpi
