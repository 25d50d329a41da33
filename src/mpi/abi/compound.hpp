// What an intercepted request may stand for besides a single message: several messages with a final step, or work done
// by other ranks. With the call guard.
#pragma once

namespace tri::mpi {

class session;

class compound {
 public:
  compound() = default;
  compound(const compound&) = delete;
  compound& operator=(const compound&) = delete;
  virtual ~compound() = default;
  /// The rest is local to this process and done in `finish`: no other rank waits for it.
  virtual bool is_done(session& in) = 0;
  /// Once, when done. MPI_SUCCESS or the class of an error.
  virtual int finish(session& in) = 0;
  /// Whether the MPI library must be polled: it sends no wake-up.
  virtual bool asks_library() const { return false; }
};

}  // namespace tri::mpi
