#undef _FORTIFY_SOURCE  // its longjmp believes in one stack for each thread
#include "omp/fibers/fiber.hpp"

#include <cfenv>
#include <cstdint>
#include <new>
#include <utility>

namespace tri::omp {

#ifdef TRIREME_PORTABLE_CONTEXTS

void fiber::begin(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<fiber*>(std::uintptr_t{high} << 32 | low);
  self->enter_(self->argument_);
}

void fiber::prepare(void* stack, std::size_t size, function enter, void* argument) {
  enter_ = enter;
  argument_ = argument;
  begins_ = true;
  getcontext(&first_);
  first_.uc_stack.ss_sp = stack;
  first_.uc_stack.ss_size = size;
  first_.uc_link = nullptr;
  const auto self = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(this));
  makecontext(&first_, reinterpret_cast<void (*)()>(&begin), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
}

void fiber::switch_between(fiber& from, fiber& to) {
  std::fenv_t control;
  std::fegetenv(&control);
  if (_setjmp(from.left_) == 0) go_to(to);
  if (!std::exchange(from.takes_control_words_, false)) std::fesetenv(&control);
}

void fiber::leave_for(fiber& to) {
  to.takes_control_words_ = true;
  go_to(to);
}

void fiber::go_to(fiber& to) {
  if (to.begins_) {
    to.begins_ = false;
    setcontext(&to.first_);
  }
  _longjmp(to.left_, 1);
}

#else

// trireme_omp_switch(void** keep, void* go): saves the registers on this stack and its address in *keep, and loads
// those at `go`. trireme_omp_leave(void* go): only loads them, without the control words. trireme_omp_begin: entry of a
// new context; its unwind information marks the outermost frame.
extern "C" {
void trireme_omp_switch(void** keep, void* go);
[[noreturn]] void trireme_omp_leave(void* go);
void trireme_omp_begin();
}

#if defined(__x86_64__)

// From the kept stack pointer up: control words (8 bytes), r15, r14, r13, r12, rbx, rbp, where to go on.
asm(R"(
  .pushsection .text
  .p2align 4
  .hidden trireme_omp_switch
  .globl trireme_omp_switch
  .type trireme_omp_switch, @function
trireme_omp_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
  .size trireme_omp_switch, .-trireme_omp_switch

  .p2align 4
  .hidden trireme_omp_leave
  .globl trireme_omp_leave
  .type trireme_omp_leave, @function
trireme_omp_leave:
  leaq 8(%rdi), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
  .size trireme_omp_leave, .-trireme_omp_leave

  .p2align 4
  .hidden trireme_omp_begin
  .globl trireme_omp_begin
  .type trireme_omp_begin, @function
trireme_omp_begin:
  .cfi_startproc
  .cfi_undefined %rip
  movq %r12, %rdi
  callq *%rbx
  ud2
  .cfi_endproc
  .size trireme_omp_begin, .-trireme_omp_begin
  .popsection
)");

void fiber::prepare(void* stack, std::size_t size, function enter, void* argument) {
  struct frame {
    std::uint32_t vector_control;
    std::uint16_t x87_control;
    std::uint16_t unused = 0;
    std::uintptr_t r15 = 0, r14 = 0, r13 = 0, r12, rbx, rbp = 0;
    void (*go_on)();
  };
  // The call in trireme_omp_begin finds the stack aligned to 16 bytes after the frame is popped.
  const auto top = (reinterpret_cast<std::uintptr_t>(stack) + size) & ~std::uintptr_t{15};
  static_assert(sizeof(frame) == 64);
  auto* const first = new (reinterpret_cast<void*>(top - sizeof(frame))) frame;
  asm volatile("stmxcsr %0" : "=m"(first->vector_control));
  asm volatile("fnstcw %0" : "=m"(first->x87_control));
  first->r12 = reinterpret_cast<std::uintptr_t>(argument);
  first->rbx = reinterpret_cast<std::uintptr_t>(enter);
  first->go_on = &trireme_omp_begin;
  stack_pointer_ = first;
}

#else

// From the kept stack pointer up: x19 to x30, d8 to d15, control word, unused.
asm(R"(
  .pushsection .text
  .p2align 4
  .hidden trireme_omp_switch
  .globl trireme_omp_switch
  .type trireme_omp_switch, %function
trireme_omp_switch:
  sub sp, sp, #176
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mrs x9, fpcr
  str x9, [sp, #160]
  mov x10, sp
  str x10, [x0]
  mov x0, x1
  ldr x9, [x0, #160]
  msr fpcr, x9
  b trireme_omp_leave
  .size trireme_omp_switch, .-trireme_omp_switch

  .p2align 4
  .hidden trireme_omp_leave
  .globl trireme_omp_leave
  .type trireme_omp_leave, %function
trireme_omp_leave:
  mov sp, x0
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #176
  ret
  .size trireme_omp_leave, .-trireme_omp_leave

  .p2align 4
  .hidden trireme_omp_begin
  .globl trireme_omp_begin
  .type trireme_omp_begin, %function
trireme_omp_begin:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
  .size trireme_omp_begin, .-trireme_omp_begin
  .popsection
)");

void fiber::prepare(void* stack, std::size_t size, function enter, void* argument) {
  struct frame {
    std::uintptr_t x[12] = {};  // x19 to x30
    double d[8] = {};
    std::uint64_t control;
    std::uint64_t unused = 0;
  };
  const auto top = (reinterpret_cast<std::uintptr_t>(stack) + size) & ~std::uintptr_t{15};
  static_assert(sizeof(frame) == 176);
  auto* const first = new (reinterpret_cast<void*>(top - sizeof(frame))) frame;
  asm volatile("mrs %0, fpcr" : "=r"(first->control));
  first->x[0] = reinterpret_cast<std::uintptr_t>(argument);
  first->x[1] = reinterpret_cast<std::uintptr_t>(enter);
  first->x[11] = reinterpret_cast<std::uintptr_t>(&trireme_omp_begin);
  stack_pointer_ = first;
}

#endif

void fiber::switch_between(fiber& from, fiber& to) { trireme_omp_switch(&from.stack_pointer_, to.stack_pointer_); }
void fiber::leave_for(fiber& to) { trireme_omp_leave(to.stack_pointer_); }

#endif

}  // namespace tri::omp
