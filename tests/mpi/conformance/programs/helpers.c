/* Whoever waits in a blocking call helps: ranks 0 and 1 exchange large messages while all others wait in the call that
   the argument names, until the exchange is over. The statistics of the drop-in tell who moved what. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { bytes = 32 << 20, rounds = 12 };

static int my_rank, rank_count;
static char* data;

static void exchange(void) {
  for (int round = 0; round < rounds; ++round) {
    for (int sender = 0; sender < 2; ++sender) {
      if (my_rank == sender) {
        memset(data, round + sender + 1, bytes);
        MPI_Send(data, bytes, MPI_BYTE, 1 - sender, 1, MPI_COMM_WORLD);
      } else {
        MPI_Recv(data, bytes, MPI_BYTE, sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < bytes; at += 4095) {
          if (data[at] == round + sender + 1) continue;
          printf("rank %d: byte %d of round %d is %d\n", my_rank, at, round, data[at]);
          MPI_Abort(MPI_COMM_WORLD, 1);
        }
      }
    }
  }
}

/* The one that ends the others' waits. */
static int ends_waits(void) { return my_rank == 0; }
static int exchanges(void) { return my_rank < 2; }

static void in_recv(void) {
  if (exchanges()) exchange();
  for (int rank = 2; rank < rank_count && ends_waits(); ++rank) MPI_Send(NULL, 0, MPI_BYTE, rank, 2, MPI_COMM_WORLD);
  if (!exchanges()) MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void in_probe(void) {
  if (exchanges()) exchange();
  for (int rank = 2; rank < rank_count && ends_waits(); ++rank) MPI_Send(NULL, 0, MPI_BYTE, rank, 2, MPI_COMM_WORLD);
  if (exchanges()) return;
  MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void in_send(void) {
  char* const large = calloc(1, 1 << 20);
  if (exchanges()) exchange();
  for (int rank = 2; rank < rank_count && ends_waits(); ++rank)
    MPI_Recv(large, 1 << 20, MPI_BYTE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!exchanges()) MPI_Send(large, 1 << 20, MPI_BYTE, 0, 2, MPI_COMM_WORLD); /* too long to be kept */
  free(large);
}
static void in_waits(int all) {
  if (exchanges()) exchange();
  for (int rank = 2; rank < rank_count && ends_waits(); ++rank)
    for (int tag = 2; tag < 4; ++tag) MPI_Send(NULL, 0, MPI_BYTE, rank, tag, MPI_COMM_WORLD);
  if (exchanges()) return;
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) MPI_Irecv(NULL, 0, MPI_BYTE, 0, 2 + i, MPI_COMM_WORLD, &requests[i]);
  if (all)
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  else
    for (int i = 0; i < 2; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}
static void in_wait(void) { in_waits(0); }
static void in_waitall(void) { in_waits(1); }
static void in_barrier(void) {
  if (exchanges()) exchange();
  MPI_Barrier(MPI_COMM_WORLD);
}
static void in_allreduce(void) {
  int one = 1, sum = 0;
  if (exchanges()) exchange();
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != rank_count) MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Win window;
static int* shared;
static void open_window(void) {
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
  *shared = 0;
}
static void in_fence(void) {
  open_window();
  MPI_Win_fence(0, window);
  if (exchanges()) exchange();
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}
static void in_lock(void) { /* the lock is taken by a rank that exchanges */
  open_window();
  if (ends_waits()) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (exchanges()) exchange();
  if (ends_waits()) MPI_Win_unlock(0, window);
  if (!exchanges()) {
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Win_free(&window);
}

static const struct {
  const char* name;
  void (*run)(void);
} calls[] = {{"recv", in_recv},           {"probe", in_probe},     {"send", in_send},
             {"wait", in_wait},           {"waitall", in_waitall}, {"barrier", in_barrier},
             {"allreduce", in_allreduce}, {"fence", in_fence},     {"lock", in_lock}};

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  data = malloc(bytes);
  memset(data, 0, bytes);
  int found = 0;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    if (count != 2 || strcmp(arguments[1], calls[i].name) != 0) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    calls[i].run();
    found = 1;
  }
  if (!found && my_rank == 0)
    fprintf(stderr, "helpers: one of recv, probe, send, wait, waitall, barrier, allreduce, fence, lock\n");
  free(data);
  if (found && my_rank == 0) printf("helpers ok\n");
  MPI_Finalize();
  return found ? 0 : 2;
}
