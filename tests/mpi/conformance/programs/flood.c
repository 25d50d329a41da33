/* A flood: every rank but the first sends 100,000 messages of 4 KiB (or as many as it is told, of so many bytes) that
   no receive waits for, and then says so. Kept whole they would take 400 MB each; what a rank may grow by is fixed.
   Afterwards all are received. For the drop-in: MPI libraries keep what they like. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { tags = 30000, all_sent = 32000, budget_KiB = 96 << 10 };

static long resident_KiB(void) {
  FILE* const file = fopen("/proc/self/status", "r");
  char line[256];
  long found = -1;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "VmRSS: %ld", &found) == 1) break;
  if (file != NULL) fclose(file);
  return found;
}

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0;
  const int messages = argc > 1 ? atoi(argv[1]) : 100000, bytes = argc > 2 ? atoi(argv[2]) : 4096;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char* const data = malloc((size_t)bytes);
  memset(data, rank + 1, (size_t)bytes);
  MPI_Request* const requests = malloc((size_t)messages * sizeof *requests);
  memset(requests, 0, (size_t)messages * sizeof *requests);
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = resident_KiB();
  if (rank > 0) {
    for (int i = 0; i < messages; ++i) MPI_Isend(data, bytes, MPI_BYTE, 0, i % tags, MPI_COMM_WORLD, &requests[i]);
    MPI_Send(NULL, 0, MPI_BYTE, 0, all_sent, MPI_COMM_WORLD);
  } else {
    for (int from = 1; from < ranks; ++from)
      MPI_Recv(NULL, 0, MPI_BYTE, from, all_sent, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  long grown = resident_KiB() - before, most = 0;
  if (rank == 0) {
    for (int from = 1; from < ranks; ++from)
      for (int i = 0; i < messages; ++i) {
        MPI_Recv(data, bytes, MPI_BYTE, from, i % tags, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += data[0] != from + 1 || data[bytes - 1] != from + 1;
      }
  } else {
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Reduce(&grown, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    fprintf(stderr, "a rank grew by %ld KiB\n", most);
    printf("flood %s, %s\n", wrong == 0 ? "received" : "not received",
           most < budget_KiB ? "in bounds" : "out of bounds");
  }
  MPI_Finalize();
  return 0;
}
