// Receives for small messages of any sender, posted ahead and used in turn: messages are handled in the order in which
// MPI matched them, which for each sender is the order of its sends. Used by mpi_conduit, on the thread that is at the
// wire.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "boot/mpi/mpi_calls.hpp"

namespace tri::wire {

class small_receives {
 public:
  small_receives(boot::mpi_calls& mpi, std::size_t count, std::size_t bytes)
      : mpi_(mpi), bytes_(bytes), memory_(std::make_unique_for_overwrite<std::byte[]>(count * bytes)), posted_(count) {
    for (std::size_t i = 0; i < count; ++i) post(i);
  }
  // As in sized_receives: memory that the library may still write to is leaked.
  ~small_receives() {
    for (const boot::mpi_request each : posted_)
      if (each != 0) static_cast<void>(memory_.release());
  }
  small_receives(const small_receives&) = delete;
  small_receives& operator=(const small_receives&) = delete;

  /// Calls `handle(source, tag, bytes)` for messages that have arrived, at most once per receive. True if any has.
  template <class Handle>
  bool take(const Handle& handle) {
    if (withdrawing_) return false;
    for (std::size_t taken = 0; taken < posted_.size(); ++taken) {
      boot::mpi_completion done;
      if (posted_[next_] == 0 || !mpi_.test(posted_[next_], done)) return taken != 0;
      if (done.problem != 0)
        throw std::runtime_error("MPI cannot receive a small message between hosts: " + mpi_.text_of(done.problem));
      const std::size_t here = next_;
      next_ = (next_ + 1) % posted_.size();
      handle(done.source, done.tag, std::span<const std::byte>(place(here).first(done.bytes)));
      post(here);
    }
    return true;
  }

  /// Cancels all receives. Repeated until it returns true.
  bool withdraw() {
    bool gone = true;
    for (boot::mpi_request& each : posted_) {
      if (each == 0) continue;
      if (!withdrawing_) mpi_.cancel(each);
      boot::mpi_completion done;
      gone = mpi_.test(each, done) && gone;
    }
    withdrawing_ = true;
    return gone;
  }

 private:
  std::span<std::byte> place(std::size_t i) { return {memory_.get() + i * bytes_, bytes_}; }
  void post(std::size_t i) {
    posted_[i] = mpi_.receive(boot::mpi_channel::small, boot::mpi_any, boot::mpi_any, place(i));
  }

  boot::mpi_calls& mpi_;
  const std::size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<boot::mpi_request> posted_;
  std::size_t next_ = 0;  // the oldest
  bool withdrawing_ = false;
};

}  // namespace tri::wire
