// What a PE does when it has nothing else to do (Charm++: CcdCallOnConditionKeep with CcdPROCESSOR_STILL_IDLE).
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <memory>
#include <utility>

#include "trireme/detail/os/unique_function.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {
struct idle_function {
  os::unique_function<bool()> call;
  bool is_wanted = true;
};
}  // namespace objects

/// Keeps a function of call_when_idle: it is called until this handle is destroyed or `end` was called. For the thread
/// of the PE on which it was made; so a class that migrates ends it before, and makes another in on_migrated().
class [[nodiscard]] idle_callback {
 public:
  idle_callback() = default;
  explicit idle_callback(std::shared_ptr<objects::idle_function> function) : function_(std::move(function)) {}
  idle_callback(idle_callback&&) noexcept = default;
  idle_callback& operator=(idle_callback&& other) noexcept {
    if (this != &other) {
      end();
      function_ = std::move(other.function_);
    }
    return *this;
  }
  ~idle_callback() { end(); }

  /// No further call. The function itself may call it.
  void end() {
    if (function_ != nullptr) function_->is_wanted = false;
    function_ = nullptr;
  }

 private:
  std::shared_ptr<objects::idle_function> function_;
};

/// Has `function` called whenever the calling PE has no message to run and nothing to help others with: as long as it
/// returns true (it did something, and has more to do), again and again, with a look at the messages in between; the PE
/// sleeps when it has returned false. It runs like a method: it may send, must not wait, and delays messages that
/// arrive meanwhile, so it should take microseconds. Not called any more when the job stops. An exception that leaves
/// it ends the job. From any method or main program.
idle_callback call_when_idle(os::unique_function<bool()> function);

}  // namespace tri

#pragma GCC visibility pop
