/* Rank 1 crashes with a heap and static data that are mostly untouched, after it has received a large message. It prints
   what lies where, for who looks into the core file: "name address bytes". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
enum { message_bytes = 4 << 20 };
static char sparse[512 * MIB];

static void tell(const char* name, const void* place, size_t bytes) { printf("%s %p %zu\n", name, place, bytes); }
/* Composed here, so that the text is not in the program's file, whose pages a core file may hold, too. */
static void mark(const char* name, char* place) {
  strcpy(place, name);
  strcat(place, " is in use");
  tell(name, place, strlen(place));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const message = malloc(message_bytes);
  memset(message, rank == 0 ? 'm' : 0, message_bytes);
  if (rank == 0) {
    MPI_Send(message, message_bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    char* const given_back = malloc(200 * MIB);
    memset(given_back, 1, 200 * MIB);
    free(given_back);
    char* const large = malloc(3000 * MIB);
    MPI_Recv(message, message_bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell("large", large, 3000 * MIB);
    mark("large_middle", large + 1500 * MIB);
    tell("static", sparse, sizeof sparse);
    mark("static_middle", sparse + 300 * MIB);
    tell("message", message, message_bytes);
    fflush(stdout);
    abort();
  }
  MPI_Barrier(MPI_COMM_WORLD); /* the others wait for who has crashed */
  return 1;
}
