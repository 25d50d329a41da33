// The functions that gcc and clang call in code compiled with -fsanitize=thread, linked in place of the sanitizer's own
// library; and the C library's functions through which such code waits or touches memory unseen (wrapped by the
// linker). Outside of an agent's run all of them do just what they say.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "explore/watched_accesses.hpp"

// NOLINTBEGIN: the names are the compilers'
namespace {

using namespace tri::explore;

void plain(const void* address, std::size_t bytes, bool writes) {
  if (agent_is_running()) watch_plain(address, bytes, writes);
}

template <class Access>
void step(const volatile void* address, std::size_t bytes, atomic_kind kind, int order, Access&& access) {
  const auto call = [](void* argument) { return (*static_cast<Access*>(argument))(); };
  atomic_step(const_cast<const void*>(address), bytes, kind, order, call, &access);
}

template <class Value>
Value load(const volatile Value* at, int order) {
  if (!agent_is_running()) return __atomic_load_n(at, __ATOMIC_SEQ_CST);
  return static_cast<Value>(atomic_load(const_cast<const Value*>(at), sizeof(Value), order));
}

template <class Value>
void store(volatile Value* at, Value value, int order) {
  if (!agent_is_running()) {
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
    return;
  }
  step(at, sizeof value, atomic_kind::store, order, [&] {
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
    return true;
  });
}

template <class Value, class Change>
Value change(volatile Value* at, int order, Change&& how) {
  if (!agent_is_running()) return how();
  Value before{};
  step(at, sizeof before, atomic_kind::change, order, [&] {
    before = how();
    return true;
  });
  return before;
}

template <class Value>
bool exchange_if(volatile Value* at, Value* expected, Value desired, int order) {
  if (!agent_is_running())
    return __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  bool done = false;
  step(at, sizeof desired, atomic_kind::change, order, [&] {
    done = __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return done;
  });
  return done;
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_acquire(void*) {}  // the order that other processes make is made here, too, and checked
void __tsan_release(void*) {}
void __tsan_vptr_read(void** at) { plain(at, sizeof(void*), false); }
void __tsan_vptr_update(void** at, void*) { plain(at, sizeof(void*), true); }
void __tsan_read_range(void* at, unsigned long bytes) { plain(at, bytes, false); }
void __tsan_write_range(void* at, unsigned long bytes) { plain(at, bytes, true); }
void __tsan_atomic_thread_fence(int order) {
  if (agent_is_running()) atomic_fence(order);
}
void __tsan_atomic_signal_fence(int) {}

#define PLAIN(bytes)                                                                \
  void __tsan_read##bytes(void* at) { plain(at, bytes, false); }                    \
  void __tsan_write##bytes(void* at) { plain(at, bytes, true); }                    \
  void __tsan_volatile_read##bytes(void* at) { plain(at, bytes, false); }           \
  void __tsan_volatile_write##bytes(void* at) { plain(at, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* at) { plain(at, bytes, false); }          \
  void __tsan_unaligned_write##bytes(void* at) { plain(at, bytes, true); }          \
  void __tsan_unaligned_volatile_read##bytes(void* at) { plain(at, bytes, false); } \
  void __tsan_unaligned_volatile_write##bytes(void* at) { plain(at, bytes, true); } \
  void __tsan_read_write##bytes(void* at) { plain(at, bytes, true); }               \
  void __tsan_unaligned_read_write##bytes(void* at) { plain(at, bytes, true); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
#undef PLAIN

#define CHANGE(bits, name)                                                                                            \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_##name(volatile std::uint##bits##_t* at, std::uint##bits##_t value, \
                                                         int order) {                                                 \
    return change(at, order, [&] { return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST); });                     \
  }
#define ATOMIC(bits)                                                                                                 \
  std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t* at, int order) {                \
    return load(at, order);                                                                                          \
  }                                                                                                                  \
  void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* at, std::uint##bits##_t value, int order) {         \
    store(at, value, order);                                                                                         \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_exchange(volatile std::uint##bits##_t* at, std::uint##bits##_t value,    \
                                                     int order) {                                                    \
    return change(at, order, [&] { return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); });                      \
  }                                                                                                                  \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile std::uint##bits##_t* at, std::uint##bits##_t* expected, \
                                                    std::uint##bits##_t desired, int order, int) {                   \
    return exchange_if(at, expected, desired, order) ? 1 : 0;                                                        \
  }                                                                                                                  \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile std::uint##bits##_t* at, std::uint##bits##_t* expected,   \
                                                  std::uint##bits##_t desired, int order, int) {                     \
    return exchange_if(at, expected, desired, order) ? 1 : 0;                                                        \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                                    \
      volatile std::uint##bits##_t* at, std::uint##bits##_t expected, std::uint##bits##_t desired, int order, int) { \
    exchange_if(at, &expected, desired, order);                                                                      \
    return expected;                                                                                                 \
  }                                                                                                                  \
  CHANGE(bits, add) CHANGE(bits, sub) CHANGE(bits, and) CHANGE(bits, or) CHANGE(bits, xor) CHANGE(bits, nand)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
#undef ATOMIC
#undef CHANGE

void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  plain(from, bytes, false);
  plain(to, bytes, true);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  plain(from, bytes, false);
  plain(to, bytes, true);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  plain(to, bytes, true);
  return __real_memset(to, value, bytes);
}
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) { return __wrap_memcpy(to, from, bytes); }
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) { return __wrap_memmove(to, from, bytes); }
void* __tsan_memset(void* to, int value, std::size_t bytes) { return __wrap_memset(to, value, bytes); }

int __real_sched_yield();
int __wrap_sched_yield() {
  if (!agent_is_running()) return __real_sched_yield();
  agent_yields();
  return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& each : a) each = va_arg(list, long);
  va_end(list);
  if (!agent_is_running() || number != SYS_futex) return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  const auto* const word = reinterpret_cast<const std::uint32_t*>(a[0]);
  const bool waits = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
  if (!waits) {
    agent_wakes(word, static_cast<int>(a[2]));
    return 0;
  }
  if (agent_sleeps(word, static_cast<std::uint32_t>(a[2]), a[3] != 0)) return 0;
  errno = EAGAIN;
  return -1;
}

}  // extern "C"
// NOLINTEND
