/* Shuffles interleavings: linked into a program, this stands before the MPI library, and now and then gives up the
   core, spins or sleeps before and after a call. CONFORMANCE_DELAYS is the seed; each rank and thread draws numbers of
   its own from it. It is part of the program, not preloaded, so that it comes before whatever is preloaded. It knows
   nothing of the types of an MPI: all arguments are words. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t word;

static word number_in(const char* variable) {
  const char* const text = getenv(variable);
  return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static word seed_of_thread(void) {
  static _Atomic word threads;
  if (getenv("CONFORMANCE_DELAYS") == NULL) {
    fprintf(stderr, "this program is built with delays; CONFORMANCE_DELAYS must be a number to begin with\n");
    _exit(2);
  }
  const word rank = number_in("OMPI_COMM_WORLD_RANK") + number_in("PMI_RANK"); /* one of them is set */
  return number_in("CONFORMANCE_DELAYS") * 1000003 + rank * 1009 + atomic_fetch_add(&threads, 1) + 1;
}

static word next_number(void) {
  static _Thread_local word state;
  if (state == 0) state = seed_of_thread();
  state += 0x9e3779b97f4a7c15u;
  word mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

static void sleep_for(word nanoseconds) {
  const struct timespec time = {0, (long)nanoseconds};
  nanosleep(&time, NULL);
}

static void maybe_wait(void) {
  const word drawn = next_number(), kind = drawn % 512, amount = drawn >> 32;
  if (kind < 320) return;
  if (kind < 416) {
    sched_yield();
  } else if (kind < 480) {
    for (volatile word i = amount % 10000; i > 0; --i) continue;
  } else if (kind < 511) {
    sleep_for(1000 + amount % 150000);
  } else {
    sleep_for(2000000 + amount % 3000000);
  }
}

static void* find(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found != NULL) return found;
  fprintf(stderr, "no %s behind the delays: %s\n", name, dlerror());
  _exit(2);
}

#define P1 word a
#define P2 P1, word b
#define P3 P2, word c
#define P4 P3, word d
#define P5 P4, word e
#define P6 P5, word f
#define P7 P6, word g
#define P8 P7, word h
#define P9 P8, word i
#define P10 P9, word j
#define P11 P10, word k
#define P12 P11, word l
#define P13 P12, word m
#define A1 a
#define A2 A1, b
#define A3 A2, c
#define A4 A3, d
#define A5 A4, e
#define A6 A5, f
#define A7 A6, g
#define A8 A7, h
#define A9 A8, i
#define A10 A9, j
#define A11 A10, k
#define A12 A11, l
#define A13 A12, m
#define DELAYED(name, count)                 \
  int name(P##count) {                       \
    typedef int function(P##count);          \
    static function* _Atomic behind;         \
    function* target = atomic_load(&behind); \
    if (target == NULL) {                    \
      target = (function*)find(#name);       \
      atomic_store(&behind, target);         \
    }                                        \
    maybe_wait();                            \
    const int result = target(A##count);     \
    maybe_wait();                            \
    return result;                           \
  }

DELAYED(MPI_Send, 6)
DELAYED(MPI_Ssend, 6)
DELAYED(MPI_Bsend, 6)
DELAYED(MPI_Rsend, 6)
DELAYED(MPI_Recv, 7)
DELAYED(MPI_Isend, 7)
DELAYED(MPI_Issend, 7)
DELAYED(MPI_Ibsend, 7)
DELAYED(MPI_Irsend, 7)
DELAYED(MPI_Irecv, 7)
DELAYED(MPI_Sendrecv, 12)
DELAYED(MPI_Sendrecv_replace, 9)
DELAYED(MPI_Send_init, 7)
DELAYED(MPI_Ssend_init, 7)
DELAYED(MPI_Bsend_init, 7)
DELAYED(MPI_Rsend_init, 7)
DELAYED(MPI_Recv_init, 7)
DELAYED(MPI_Start, 1)
DELAYED(MPI_Startall, 2)
DELAYED(MPI_Probe, 4)
DELAYED(MPI_Iprobe, 5)
DELAYED(MPI_Mprobe, 5)
DELAYED(MPI_Improbe, 6)
DELAYED(MPI_Mrecv, 5)
DELAYED(MPI_Imrecv, 5)
DELAYED(MPI_Wait, 2)
DELAYED(MPI_Waitall, 3)
DELAYED(MPI_Waitany, 4)
DELAYED(MPI_Waitsome, 5)
DELAYED(MPI_Test, 3)
DELAYED(MPI_Testall, 4)
DELAYED(MPI_Testany, 5)
DELAYED(MPI_Testsome, 5)
DELAYED(MPI_Request_get_status, 3)
DELAYED(MPI_Request_free, 1)
DELAYED(MPI_Cancel, 1)
DELAYED(MPI_Buffer_detach, 2)
DELAYED(MPI_Comm_dup, 2)
DELAYED(MPI_Comm_idup, 3)
DELAYED(MPI_Comm_split, 4)
DELAYED(MPI_Comm_create, 3)
DELAYED(MPI_Comm_create_group, 4)
DELAYED(MPI_Comm_free, 1)
DELAYED(MPI_Comm_disconnect, 1)
DELAYED(MPI_Cart_create, 6)
DELAYED(MPI_Intercomm_create, 6)
DELAYED(MPI_Intercomm_merge, 3)
DELAYED(MPI_Barrier, 1)
DELAYED(MPI_Bcast, 5)
DELAYED(MPI_Reduce, 7)
DELAYED(MPI_Allreduce, 6)
DELAYED(MPI_Gather, 8)
DELAYED(MPI_Scatter, 8)
DELAYED(MPI_Allgather, 7)
DELAYED(MPI_Alltoall, 7)
DELAYED(MPI_Ibarrier, 2)
DELAYED(MPI_Iallreduce, 7)
DELAYED(MPI_Ibcast, 6)
DELAYED(MPI_Type_free, 1)
DELAYED(MPI_Put, 8)
DELAYED(MPI_Get, 8)
DELAYED(MPI_Accumulate, 9)
DELAYED(MPI_Get_accumulate, 12)
DELAYED(MPI_Fetch_and_op, 7)
DELAYED(MPI_Compare_and_swap, 7)
DELAYED(MPI_Rput, 9)
DELAYED(MPI_Rget, 9)
DELAYED(MPI_Raccumulate, 10)
DELAYED(MPI_Rget_accumulate, 13)
DELAYED(MPI_Win_fence, 2)
DELAYED(MPI_Win_lock, 4)
DELAYED(MPI_Win_unlock, 2)
DELAYED(MPI_Win_lock_all, 2)
DELAYED(MPI_Win_unlock_all, 1)
DELAYED(MPI_Win_flush, 2)
DELAYED(MPI_Win_flush_local, 2)
DELAYED(MPI_Win_flush_all, 1)
DELAYED(MPI_Win_sync, 1)
DELAYED(MPI_Win_post, 3)
DELAYED(MPI_Win_start, 3)
DELAYED(MPI_Win_complete, 1)
DELAYED(MPI_Win_wait, 1)
DELAYED(MPI_Win_test, 2)
DELAYED(MPI_Win_free, 1)
