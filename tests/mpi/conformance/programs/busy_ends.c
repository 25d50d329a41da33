/* A large message between hosts while its sender, its receiver, or both compute and call no MPI: their neighbours wait
   in MPI. Ranks 0 and 1 are on one host, 2 and 3 on another, which is only pretended: a file tells the sender that the
   message has arrived. Under an MPI whose ends have to call, it hangs, and says so after a minute.
   usage: busy_ends receiver|sender|both [gaps] */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { blocks = 1 << 18, of_block = 8, bytes = blocks * of_block, mark = 7 };

static int rank;

/* In shared memory of all ranks, whatever their hosts. */
static _Atomic int* shared_word(void) {
  char name[] = "/tmp/busy_ends.XXXXXX";
  int file = -1;
  if (rank == 0) {
    file = mkstemp(name);
    if (file < 0 || ftruncate(file, sizeof(int)) != 0) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  FILE* const opened = fopen(name, "r+");
  if (opened == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
  void* const word = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(opened), 0);
  fclose(opened);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    close(file);
    unlink(name);
  }
  return word;
}

/* Computes until then. */
static void compute(const char* what, int (*is_true)(const void*), const void* of) {
  for (int ms = 0; !is_true(of); ++ms) {
    if (ms == 60000) {
      printf("the %s depends on its calls\n", what);
      fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    usleep(1000);
  }
}
static int is_set(const void* word) { return atomic_load((_Atomic int*)word); }
/* The last byte of each MiB of data has come, in a buffer that had zeros. */
static int stride;
static int is_whole(const void* buffer) {
  const volatile char* const at = buffer;
  for (int block = blocks / 2 - 1; block < blocks; block += blocks / 2)
    if (at[(size_t)block * (size_t)stride + of_block - 1] != mark) return 0;
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size, bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const who = argc >= 2 ? argv[1] : "";
  const int both = strcmp(who, "both") == 0;
  if (size != 4 || !(both || strcmp(who, "receiver") == 0 || strcmp(who, "sender") == 0)) {
    if (rank == 0)
      fprintf(stderr, "usage: busy_ends receiver|sender|both [gaps], 4 ranks; '%s' is not one of these\n", who);
    MPI_Finalize();
    return 2;
  }
  stride = argc == 3 ? 2 * of_block : of_block;
  MPI_Datatype type;
  MPI_Type_vector(blocks, of_block, stride, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  _Atomic int* const arrived = shared_word();
  char* const buffer = calloc(blocks, (size_t)stride);
  char token = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    memset(buffer, mark, (size_t)blocks * (size_t)stride);
    MPI_Isend(buffer, 1, type, 2, 5, MPI_COMM_WORLD, &request);
    if (both || strcmp(who, "sender") == 0) compute("sender", is_set, arrived);
  } else if (rank == 2) {
    MPI_Irecv(buffer, 1, type, 0, 5, MPI_COMM_WORLD, &request);
    if (both || strcmp(who, "receiver") == 0) compute("receiver", is_whole, buffer);
    if (both) atomic_store(arrived, 1);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 2) {
    atomic_store(arrived, 1);
    for (size_t i = 0; i < (size_t)blocks * (size_t)stride; ++i)
      bad |= buffer[i] != (i % (size_t)stride < of_block ? mark : 0);
  }
  /* The neighbours wait until then. */
  if (rank % 2 == 0)
    MPI_Send(&token, 1, MPI_CHAR, rank + 1, 6, MPI_COMM_WORLD);
  else
    MPI_Recv(&token, 1, MPI_CHAR, rank - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 2) printf("busy_ends %s\n", bad ? "FAILED" : "ok");
  MPI_Type_free(&type);
  free(buffer);
  munmap((void*)arrived, sizeof(int));
  MPI_Finalize();
  return bad;
}
