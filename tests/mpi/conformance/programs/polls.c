/* How often ranks ask in vain: a token goes round all ranks, and each one looks for it in a loop of calls that do not
   wait. With more ranks than cores a loop that keeps its core asks for a slice of the scheduler's, thousands of times,
   while the rank that has the token waits for a core. Argument: test, testall, iprobe, win8 or win16. Prints calls per
   hop. Or, by work_test or work_iprobe, programs that work between their looks, which find nothing: prints how many
   looks there were. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { rounds = 100 };
static long calls;

static void by_test(int from, long* token, int all) {
  MPI_Request request;
  int done = 0;
  MPI_Irecv(token, 1, MPI_LONG, from, 0, MPI_COMM_WORLD, &request);
  while (!done) {
    ++calls;
    if (all)
      MPI_Testall(1, &request, &done, MPI_STATUSES_IGNORE);
    else
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

static void by_probe(int from, long* token) {
  int found = 0;
  while (!found) {
    ++calls;
    MPI_Iprobe(from, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
  MPI_Recv(token, 1, MPI_LONG, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void by_window(MPI_Win window, int from, int words, long wanted) {
  long seen[2] = {-1, -1};
  while (seen[0] != wanted || seen[words - 1] != wanted) {
    ++calls;
    MPI_Get_accumulate(NULL, 0, MPI_LONG, seen, words, MPI_LONG, from, 0, words, MPI_LONG, MPI_NO_OP, window);
    MPI_Win_flush(from, window);
  }
}

static void work_between_looks(int by_test, int rank, int size) {
  enum { looks = 20000 };
  volatile double sum = 0;
  int found = 0, nothing = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (by_test) MPI_Irecv(&nothing, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int look = 0; look < looks; ++look) {
    if (by_test)
      MPI_Test(&request, &found, MPI_STATUS_IGNORE);
    else
      MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    for (int i = 0; i < 1000; ++i) sum += i; /* 2 to 3 us */
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&nothing, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD);
  if (by_test)
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  else
    MPI_Recv(&nothing, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) printf("%d looks\n", looks);
}

int main(int argument_count, char** arguments) {
  int rank = 0, size = 0;
  MPI_Init(&argument_count, &arguments);
  if (argument_count < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const by = arguments[1];
  const int previous = (rank + size - 1) % size, words = strcmp(by, "win16") == 0 ? 2 : 1;
  if (strncmp(by, "work_", 5) == 0) {
    work_between_looks(strcmp(by, "work_test") == 0, rank, size);
    MPI_Finalize();
    return 0;
  }
  long* memory = NULL;
  MPI_Win window;
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memory[0] = memory[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (long round = 1; round <= rounds; ++round) {
    long token = round;
    if (strncmp(by, "win", 3) == 0) {
      by_window(window, previous, words, rank == 0 ? round - 1 : round);
      const long next[2] = {round, round};
      MPI_Accumulate(next, words, MPI_LONG, rank, 0, words, MPI_LONG, MPI_REPLACE, window);
      MPI_Win_flush(rank, window);
      continue;
    }
    if (rank > 0 || round > 1) {
      if (strcmp(by, "iprobe") == 0)
        by_probe(previous, &token);
      else
        by_test(previous, &token, strcmp(by, "testall") == 0);
    }
    if (rank < size - 1 || round < rounds) MPI_Send(&token, 1, MPI_LONG, (rank + 1) % size, 0, MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(window);
  long all = 0;
  MPI_Reduce(&calls, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld calls per hop\n", all / rounds / size);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
