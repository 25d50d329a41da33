// A flow of control with a stack of its own, switched at the cost of a function call; virtual threads run on it.
// Independent of scheduling. Switching preserves callee-saved registers and the control words of the floating-point
// units; not the signal mask, thread-local data or errno.
//
// x86-64 and aarch64 have their own code; elsewhere, or with TRIREME_PORTABLE_CONTEXTS, makecontext creates a context
// and _setjmp and _longjmp switch, also without the system call of swapcontext.
#pragma once

#include <cstddef>

#if !defined(TRIREME_PORTABLE_CONTEXTS) && !defined(__x86_64__) && !defined(__aarch64__)
#define TRIREME_PORTABLE_CONTEXTS
#endif
#ifdef TRIREME_PORTABLE_CONTEXTS
#include <ucontext.h>
#include <csetjmp>
#endif

namespace tri::omp {

class fiber {
 public:
  using function = void (*)(void* argument);

  /// The next switch to this context calls enter(argument) on the given stack. It inherits the control words of the
  /// preparing thread. `enter` never returns: it ends by leave_for().
  void prepare(void* stack, std::size_t size, function enter, void* argument);

  /// From here, which is kept in `from`, to where `to` was left (or begins).
  static void switch_between(fiber& from, fiber& to);
  /// The same, without return. The control words stay: they belong to the thread.
  [[noreturn]] static void leave_for(fiber& to);

 private:
#ifdef TRIREME_PORTABLE_CONTEXTS
  static void begin(unsigned high, unsigned low);
  [[noreturn]] static void go_to(fiber& to);
  jmp_buf left_;
  ucontext_t first_;
  bool begins_ = false;
  bool takes_control_words_ = false;  // of the context that left for it
  function enter_ = nullptr;
  void* argument_ = nullptr;
#else
  void* stack_pointer_ = nullptr;  // where the registers are kept
#endif
};

}  // namespace tri::omp
