// What a request of ours may stand for beside a single message: several messages with a last step, or something that
// others do. With the call guard.
#pragma once

namespace tri::mpi {

class session;

class compound {
 public:
  compound() = default;
  compound(const compound&) = delete;
  compound& operator=(const compound&) = delete;
  virtual ~compound() = default;
  /// What is left then is for this process alone to do, in `finish`: nobody waits for it.
  virtual bool is_done(session& in) = 0;
  /// Once, when done. MPI_SUCCESS or the class of an error.
  virtual int finish(session& in) = 0;
  /// Whether the MPI library has to be asked again and again: it does not ring.
  virtual bool asks_library() const { return false; }
};

}  // namespace tri::mpi
