/* Something that the drop-in needs is missing when MPI begins: the first argument says what, the second, if any, the
   only rank where it is. Messages of all sizes between all kinds of memory must be right all the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { largest = 300000, an_obstacle_failed = 3 };
static unsigned char static_data[2][largest];

static int refuse(int first, int second) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)first, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)second, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog whole = {sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) == 0;
}

static int put_up(const char* what) {
  if (strcmp(what, "nothing") == 0) return 1;
  if (strcmp(what, "kernel_copies_refused") == 0) return refuse(SYS_process_vm_readv, SYS_process_vm_writev);
  if (strcmp(what, "memory_files_refused") == 0) return refuse(SYS_memfd_create, SYS_memfd_create);
  if (strcmp(what, "not_dumpable") == 0) return prctl(PR_SET_DUMPABLE, 0) == 0;
  if (strcmp(what, "window_taken") == 0) /* where the arena lies in all processes */
    return mmap((void*)0x110000000000, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
           MAP_FAILED;
  fprintf(stderr,
          "'%s' is not one of these: nothing, kernel_copies_refused, memory_files_refused, not_dumpable, window_taken\n",
          what);
  return 0;
}

static int exchange(unsigned char* out, unsigned char* in, int bytes, int rank, int ranks) {
  for (int i = 0; i < bytes; ++i) out[i] = (unsigned char)(i * 7 + rank);
  memset(in, 0, (size_t)bytes);
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(out, bytes, MPI_BYTE, next, 5, in, bytes, MPI_BYTE, previous, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < bytes; ++i)
    if (in[i] != (unsigned char)(i * 7 + previous)) return 1;
  return 0;
}

int main(int argc, char** argv) {
  const char* const own = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  const int is_here = argc < 3 || (own != NULL && atoi(own) == atoi(argv[2]));
  if (argc < 2 || !put_up(is_here ? argv[1] : "nothing")) {
    perror("no obstacle");
    return an_obstacle_failed;
  }
  int rank, ranks, wrong = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char on_stack[2][largest];
  unsigned char* const heap[2] = {malloc(largest), malloc(largest)};
  const struct {
    unsigned char* at[2];
  } kinds[] = {{{heap[0], heap[1]}}, {{on_stack[0], on_stack[1]}}, {{static_data[0], static_data[1]}},
               {{on_stack[0], heap[1]}}, {{heap[0], static_data[1]}}};
  for (int bytes = 1; bytes <= largest; bytes = bytes * 5 + 1)
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind)
      wrong += exchange(kinds[kind].at[0], kinds[kind].at[1], bytes, rank, ranks);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d of the messages were wrong\n", all);
  MPI_Finalize();
  return 0;
}
