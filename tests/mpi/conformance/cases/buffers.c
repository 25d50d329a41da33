/* Where a buffer lies must not matter: every pair of kinds of memory, in several sizes. Memory that is given back as
   soon as MPI says that it is done with it, and memory seen by a child process. */
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

enum { most = 300000 };
static const int lengths[] = {1, 64, 5000, 65537, most};
enum { length_total = 5 };

static char in_bss[most + 16];
static char in_data[most + 16] = {1, 2, 3};
static _Thread_local char of_thread[most + 16];

/* The kinds of memory, each at an odd address. */
enum { on_heap, aligned, anonymous, shared, of_file, in_two_pages, from_mpi, bss, data, thread_local_, kinds };

struct memory {
  int kind;
  void* whole;
  size_t mapped;
  char* base;
};

static char* map(size_t bytes, int flags, int file) {
  void* const whole = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (whole == MAP_FAILED) {
    perror("mmap");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return whole;
}

static struct memory get_memory(int kind) {
  struct memory made = {.kind = kind, .mapped = (most + 8192) / 4096 * 4096};
  switch (kind) {
    case on_heap:
      made.whole = allocate(most + 16);
      break;
    case aligned:
      made.whole = aligned_alloc(4096, made.mapped);
      break;
    case anonymous:
      made.whole = map(made.mapped, MAP_PRIVATE | MAP_ANONYMOUS, -1);
      break;
    case shared:
      made.whole = map(made.mapped, MAP_SHARED | MAP_ANONYMOUS, -1);
      break;
    case of_file: {
      char name[] = "/tmp/trireme_buffer_XXXXXX";
      const int file = mkstemp(name);
      unlink(name);
      if (file < 0 || ftruncate(file, (off_t)made.mapped) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
      made.whole = map(made.mapped, MAP_PRIVATE, file);
      close(file);
      break;
    }
    case in_two_pages:
      made.whole = map(made.mapped, MAP_PRIVATE | MAP_ANONYMOUS, -1);
      break;
    case from_mpi:
      MPI_Alloc_mem(most + 16, MPI_INFO_NULL, &made.whole);
      break;
    case bss:
      made.whole = in_bss;
      break;
    case data:
      made.whole = in_data;
      break;
    default:
      made.whole = of_thread;
      break;
  }
  made.base = (char*)made.whole + (kind == in_two_pages ? 4093 : 3);
  return made;
}

static void give_back(struct memory* of) {
  if (of->kind == on_heap || of->kind == aligned) free(of->whole);
  if (of->kind >= anonymous && of->kind <= in_two_pages) munmap(of->whole, of->mapped);
  if (of->kind == from_mpi) MPI_Free_mem(of->whole);
}

static void exchange(char* out, char* in, int what) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  for (int i = 0; i < length_total; ++i) {
    const size_t bytes = (size_t)lengths[i];
    for (int turn = 0; turn < 2; ++turn) { /* one after the other: both buffers may be the same */
      if ((my_rank & 1) == turn) {
        fill(out, bytes, seed_of(my_rank, what + i));
        MPI_Send(out, lengths[i], MPI_BYTE, peer, i, MPI_COMM_WORLD);
      } else {
        memset(in, 0x66, bytes);
        MPI_Recv(in, lengths[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        VERIFY(in, bytes, seed_of(peer, what + i));
      }
    }
  }
}

static void every_kind_to_every_kind(void) {
  for (int from = 0; from < kinds; ++from) {
    for (int to = 0; to < kinds; ++to) {
      struct memory out = get_memory(from), in = get_memory(to);
      exchange(out.base, in.base, 100 * from + to);
      give_back(&in);
      give_back(&out);
    }
  }
}

static void on_the_stack(void) {
  char out[most], in[most];
  exchange(out, in, 1);
  char* const allocated = alloca(most);
  exchange(allocated, in, 2);
  exchange(out, in_bss + 5, 3);
}

static void* with_a_stack_of_its_own(void* unused) {
  on_the_stack();
  exchange(of_thread, of_thread, 9);
  return unused;
}
static void on_the_stack_of_a_thread(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 8 << 20);
  pthread_create(&thread, &attributes, with_a_stack_of_its_own, NULL);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

static const char constant[5000] = {7, 8, 9};
static void memory_that_cannot_be_written(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const in = allocate(most);
  char* const page = map(most / 4096 * 4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  fill(page, most / 4096 * 4096, 5);
  mprotect(page, most / 4096 * 4096, PROT_READ);
  MPI_Request request;
  MPI_Isend(constant, 5000, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
  MPI_Recv(in, most, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(memcmp(in, constant, 5000) == 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(page, most / 4096 * 4096, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request);
  MPI_Recv(in, most, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  VERIFY(in, most / 4096 * 4096, 5);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  munmap(page, most / 4096 * 4096);
  free(in);
}

/* As soon as a call says that it is done, the memory goes away, or means something else at the same address. */
static void given_back_at_once(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  const size_t bytes = most / 4096 * 4096;
  for (int round = 0; round < 40; ++round) {
    char* out = NULL;
    char* in = NULL;
    MPI_Request requests[2];
    if (round % 2) {
      out = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
      in = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    } else {
      out = allocate(bytes);
      in = allocate(bytes);
    }
    fill(out, bytes, seed_of(my_rank, round));
    MPI_Irecv(in, (int)bytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, (int)bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    if (round % 2) {
      munmap(out, bytes);
    } else {
      memset(out, 0, bytes);
      free(out);
    }
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    VERIFY(in, bytes, seed_of(previous, round));
    if (round % 2) {
      munmap(in, bytes);
    } else {
      free(in);
    }
  }
}

/* The same address with other pages behind it: nobody may remember what was there. */
static void other_pages_at_the_same_address(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  const size_t bytes = most / 4096 * 4096;
  char* const out = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  char* const in = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  for (int round = 0; round < 20; ++round) {
    mmap(round % 2 ? out : in, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Request request;
    fill(out, bytes, seed_of(my_rank, round));
    MPI_Irecv(in, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Send(out, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    VERIFY(in, bytes, seed_of(peer, round));
  }
  munmap(in, bytes);
  munmap(out, bytes);
}

/* The allocation functions do what they are for, between messages. */
static void* churn(void* argument) {
  struct random_numbers numbers = {*(uint64_t*)argument};
  enum { blocks = 200, rounds = 4000 };
  char* held[blocks] = {NULL};
  size_t size[blocks] = {0};
  long wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const int at = (int)number_below(&numbers, blocks);
    if (held[at] != NULL) {
      for (size_t i = 0; i < size[at]; i += 97) wrong += held[at][i] != (char)at;
    }
    const size_t wanted =
        number_below(&numbers, 20) == 0 ? number_below(&numbers, 500000) : number_below(&numbers, 2000);
    switch (number_below(&numbers, 5)) {
      case 0:
        free(held[at]);
        held[at] = calloc(wanted, 1);
        for (size_t i = 0; i < wanted; ++i) wrong += held[at][i] != 0;
        break;
      case 1:
        held[at] = realloc(held[at], wanted + 1);
        break;
      case 2: {
        const size_t alignment = (size_t)16 << number_below(&numbers, 9);
        void* fresh = NULL;
        free(held[at]);
        wrong += posix_memalign(&fresh, alignment, wanted + 1) != 0;
        wrong += (uintptr_t)fresh % alignment != 0;
        held[at] = fresh;
        break;
      }
      default:
        free(held[at]);
        held[at] = malloc(wanted + 1);
        wrong += malloc_usable_size(held[at]) < wanted + 1;
        break;
    }
    size[at] = wanted;
    if (held[at] != NULL) memset(held[at], at, wanted);
  }
  for (int i = 0; i < blocks; ++i) free(held[i]);
  *(uint64_t*)argument = (uint64_t)wrong;
  return NULL;
}
static void allocation_from_threads(void) {
  pthread_t threads[3];
  uint64_t seeds[3];
  for (int i = 0; i < 3; ++i) {
    seeds[i] = mix((uint64_t)(my_rank * 3 + i));
    pthread_create(&threads[i], NULL, churn, &seeds[i]);
  }
  char* const out = allocate(most);
  char* const in = allocate(most);
  exchange(out, in, 40);
  free(in);
  free(out);
  for (int i = 0; i < 3; ++i) {
    pthread_join(threads[i], NULL);
    CHECK_EQUAL(seeds[i], 0);
  }
}

/* A child has its own copy of all memory, whatever the parent and its peers do with theirs. The child of a process with
   an MPI must not call MPI; it may do anything else. */
static void children_have_their_own_memory(void) {
  const int peer = pair_peer();
  static char fixed[5000];
  char* const heap = allocate(most);
  char* const in = allocate(most);
  for (int round = 0; round < 4; ++round) {
    int to_child[2], to_parent[2];
    fill(heap, most, seed_of(my_rank, round));
    fill(fixed, sizeof fixed, seed_of(my_rank, round + 100));
    memset(in, 0x11, most);
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Request request = MPI_REQUEST_NULL;
    if (round % 2 && peer != MPI_PROC_NULL) MPI_Irecv(in, most, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    const pid_t child = fork();
    if (child == 0) {
      char good = 1, go = 0;
      fill(in, most, 999); /* not seen by the parent */
      if (read(to_child[0], &go, 1) != 1) good = 0;
      char* const expected = malloc(most); /* allocation still works */
      fill(expected, most, seed_of(my_rank, round));
      if (memcmp(expected, heap, most) != 0) good = 0; /* what the parent wrote since is not seen here */
      fill(expected, sizeof fixed, seed_of(my_rank, round + 100));
      if (memcmp(expected, fixed, sizeof fixed) != 0) good = 0;
      free(expected);
      free(heap);
      if (write(to_parent[1], &good, 1) != 1) _exit(1);
      _exit(0);
    }
    if (!(round % 2)) VERIFY_ALL(in, most, 0x11);
    memset(heap, 0x22, most);
    memset(fixed, 0x22, sizeof fixed);
    if (peer != MPI_PROC_NULL) {
      if (request == MPI_REQUEST_NULL) MPI_Irecv(in, most, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
      MPI_Send(heap, most, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      VERIFY_ALL(in, most, 0x22);
    }
    char good = 0;
    int status = -1;
    CHECK(write(to_child[1], "x", 1) == 1);
    CHECK(read(to_parent[0], &good, 1) == 1);
    CHECK_EQUAL(good, 1);
    waitpid(child, &status, 0);
    CHECK_EQUAL(status, 0);
    if (peer != MPI_PROC_NULL) VERIFY_ALL(in, most, 0x22);
    VERIFY_ALL(heap, most, 0x22);
    for (int i = 0; i < 2; ++i) {
      close(to_child[i]);
      close(to_parent[i]);
    }
  }
  free(in);
  free(heap);
}

/* Other programs started while messages are under way. */
static void programs_started_in_between(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const in = allocate(most);
  char* const out = allocate(most);
  MPI_Request requests[2];
  fill(out, most, seed_of(my_rank, 1));
  MPI_Irecv(in, most, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, most, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
  char line[32] = "";
  FILE* const echo = popen("echo from a shell", "r");
  CHECK(echo != NULL && fgets(line, sizeof line, echo) != NULL);
  CHECK(strcmp(line, "from a shell\n") == 0);
  CHECK_EQUAL(pclose(echo), 0);
  CHECK_EQUAL(system("exit 3"), 3 << 8);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  VERIFY(in, most, seed_of(peer, 1));
  free(out);
  free(in);
}

const struct conformance_case buffer_cases[] = {
    {"every_kind_to_every_kind", 2, every_kind_to_every_kind},
    {"on_the_stack", 2, on_the_stack},
    {"on_the_stack_of_a_thread", 2, on_the_stack_of_a_thread},
    {"memory_that_cannot_be_written", 2, memory_that_cannot_be_written},
    {"given_back_at_once", 1, given_back_at_once},
    {"other_pages_at_the_same_address", 2, other_pages_at_the_same_address},
    {"allocation_from_threads", 1, allocation_from_threads},
    {"children_have_their_own_memory", 1, children_have_their_own_memory},
    {"programs_started_in_between", 2, programs_started_in_between},
    {NULL, 0, NULL},
};
