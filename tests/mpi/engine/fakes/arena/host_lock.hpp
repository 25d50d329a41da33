// In place of the lock of futexes: one step to take it, one to give it back.
#pragma once

#include "explore/interleavings.hpp"

namespace tri::arena {

class host_lock {
 public:
  void lock() { explore::acquire(this); }
  bool try_lock() { return explore::try_acquire(this); }
  void unlock() { explore::release(this); }
};

}  // namespace tri::arena
