// Results whose future may not end in silence on another PE of the process than its own, to which it came with an
// element or a message. Its own PE destroys the result later; what the program may rely on when the future has ended,
// such as memory that is its own again, has to be so at once.
#pragma once

#pragma GCC visibility push(default)

namespace tri::objects {

class ends_elsewhere {
 public:
  /// By the other PE, before its own one hears of it.
  virtual void future_ends() noexcept = 0;

 protected:
  ~ends_elsewhere() = default;
};

}  // namespace tri::objects

#pragma GCC visibility pop
