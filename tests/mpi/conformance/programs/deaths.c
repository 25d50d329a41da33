/* How programs die: one rank, or the launcher, is killed at a moment that the first argument names. The others wait for
   what will never come; the job has to end all the same. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { small = 4000 /* not copied by instructions in place */, large = 8 << 20, a_tag = 1, no_tag = 2 };
static const unsigned char mark[16] = "a rank dies now";
static int my_rank, rank_count;
static volatile int dies_in_copies;

static void die(void) { kill(getpid(), SIGKILL); }
static void die_after_all(int signal) {
  (void)signal;
  die();
}

/* Whoever copies bytes of this process calls these, as they come first: the MPI library, and what is loaded before it.
   `volatile`: the compiler must not make calls of memcpy of these loops. Small messages are copied while a lock is held, large ones in pieces for which another rank waits. */
static void* copied(void* to, const void* from, size_t bytes) {
  volatile unsigned char* const out = to;
  const unsigned char* const in = from;
  if ((uintptr_t)out <= (uintptr_t)in)
    for (size_t i = 0; i < bytes; ++i) out[i] = in[i];
  else
    for (size_t i = bytes; i > 0; --i) out[i - 1] = in[i - 1];
  if (dies_in_copies && bytes >= sizeof mark) {
    size_t same = 0;
    while (same < sizeof mark && in[same] == mark[same]) ++same;
    if (same == sizeof mark) die();
  }
  return to;
}
void* memcpy(void* restrict to, const void* restrict from, size_t bytes) { return copied(to, from, bytes); }
void* memmove(void* to, const void* from, size_t bytes) { return copied(to, from, bytes); }

/* Also when its parent has not asked for its status yet. From /proc: "pid (name) state ...". */
static int has_died(int process) {
  char text[512];
  snprintf(text, sizeof text, "/proc/%d/stat", process);
  FILE* const file = fopen(text, "r");
  const size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
  if (file != NULL) fclose(file);
  text[length] = 0;
  const char* const behind_name = strrchr(text, ')');
  return behind_name == NULL || behind_name[2] == 'Z' || behind_name[2] == 'X';
}

static void wait_for_ever(void) {
  int never = 0;
  MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, no_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("never reached\n");
}

/* Rank 1 copies what rank 0 sends: with the lock of its own inbox. */
static void in_own_receive(unsigned char* data) {
  if (my_rank == 0) MPI_Send(data, small, MPI_BYTE, 1, a_tag, MPI_COMM_WORLD);
  if (my_rank == 1) {
    dies_in_copies = 1;
    MPI_Recv(data, small, MPI_BYTE, 0, a_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    die(); /* where nothing is copied by a function */
  }
  wait_for_ever();
}

/* Rank 1 waits, and so copies what rank 2 sends to rank 0, which computes until rank 1 has died: with the lock of rank
   0. The large message is copied by rank 1 beside others. */
static void for_another(unsigned char* data, int bytes) {
  int rank_1 = (int)getpid();
  MPI_Bcast(&rank_1, 1, MPI_INT, 1, MPI_COMM_WORLD);
  if (my_rank == 0) {
    MPI_Request request;
    MPI_Irecv(data, bytes, MPI_BYTE, 2, a_tag, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    while (!has_died(rank_1)) usleep(200);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 2) MPI_Send(data, bytes, MPI_BYTE, 0, a_tag, MPI_COMM_WORLD);
    if (my_rank == 1) {
      dies_in_copies = 1;
      signal(SIGALRM, die_after_all); /* where no rank copies for others: after the time of thousands of messages */
      const struct itimerval a_second = {.it_value = {.tv_sec = 1}};
      setitimer(ITIMER_REAL, &a_second, NULL);
    }
  }
  wait_for_ever();
}

/* Rank 1 dies as it copies for a reduction, or behind the first one: then the others wait in the next. */
static void in_a_collective(unsigned char* data) {
  unsigned char* const sum = malloc(large);
  if (my_rank == 1) dies_in_copies = 1;
  MPI_Allreduce(data, sum, large, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  if (my_rank == 1) die();
  MPI_Allreduce(data, sum, large, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  printf("never reached\n");
}

int main(int argc, char** argv) {
  const char* const when = argc > 1 ? argv[1] : "";
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  unsigned char* const data = malloc(large);
  for (size_t i = 0; i < large; ++i) data[i] = mark[i % sizeof mark];
  if (my_rank == 0) printf("some die: %s\n", when);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(when, "waiting") == 0) {
    if (my_rank == 1) die();
    wait_for_ever();
  } else if (strcmp(when, "receiving") == 0) {
    in_own_receive(data);
  } else if (strcmp(when, "receiving_for_another") == 0 && rank_count > 2) {
    for_another(data, small);
  } else if (strcmp(when, "moving_for_another") == 0 && rank_count > 2) {
    for_another(data, large);
  } else if (strcmp(when, "in_a_collective") == 0) {
    in_a_collective(data);
  } else if (strcmp(when, "launcher") == 0 && getenv("CONFORMANCE_LAUNCHER") != NULL) {
    if (my_rank == 0) kill(atoi(getenv("CONFORMANCE_LAUNCHER")), SIGKILL);
    wait_for_ever();
  } else {
    fprintf(stderr,
            "'%s' is not one of these: waiting, receiving, receiving_for_another and moving_for_another (with three ranks), "
            "in_a_collective, launcher (whose number is in CONFORMANCE_LAUNCHER)\n",
            when);
  }
  MPI_Finalize();
  return 1;
}
