// Wakes a sleeper that waits for a descriptor, too: a datagram socket with a name that the kernel gives it, known
// to the processes that may ring. The kernel keeps a ring until it is heard, so none is lost. Any process of the host
// sees the name and can send to it, but a ring carries a key, which only processes know that share memory with the
// sleeper: the kernel drops everything else before it wakes a thread (a filter of the socket).
#pragma once

#include <cstdint>

#include "os/unique_fd.hpp"

namespace tri::sched {

class wakeup_socket {
 public:
  /// Throws std::system_error.
  wakeup_socket();
  /// For `ring`: the socket's name and the key; never 0.
  std::uint64_t name() const { return name_; }
  /// Until rung, until `descriptor` is readable, or until `timeout_ns` have passed (negative: for ever). May return for
  /// no reason. By one thread at a time. Returns whether it was rung.
  bool sleep(int descriptor, std::int64_t timeout_ns) const;

  /// Any thread of any process of the host. Throws std::system_error when it needs a descriptor and there is none.
  static void ring(std::uint64_t name);

 private:
  os::unique_fd socket_;
  std::uint64_t name_;
};

}  // namespace tri::sched
