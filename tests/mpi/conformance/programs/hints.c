/* The hint post_comm_access: what MPI_Comm_get_info says of it after each way to give it, and large messages under each
   value. Even ranks send to the next odd one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_bytes = 1000000 };

static MPI_Info info_with(const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "post_comm_access", value);
  return info;
}

static void say(MPI_Comm comm, const char* what) {
  char value[MPI_MAX_INFO_VAL + 1] = "-";
  int rank = 0, found = 0;
  MPI_Info used;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_get_info(comm, &used);
  MPI_Info_get(used, "post_comm_access", MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&used);
  if (rank == 0) printf("%s: %s\n", what, value);
}

static unsigned char byte_at(int i) { return (unsigned char)(i * 7 + i / 251); }

/* Whether all bytes arrived; some sizes end in a short piece. */
static int exchange(MPI_Comm comm) {
  static const int sizes[] = {32768, 40000, 131072, 777777, most_bytes};
  int rank = 0, ranks = 0, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  unsigned char* const data = malloc(most_bytes);
  for (int k = 0; k < 5; ++k) {
    for (int i = 0; i < sizes[k]; ++i) data[i] = rank % 2 == 0 ? byte_at(i + k) : 0;
    if (rank % 2 == 0 && rank + 1 < ranks) MPI_Send(data, sizes[k], MPI_BYTE, rank + 1, k, comm);
    if (rank % 2 == 1) MPI_Recv(data, sizes[k], MPI_BYTE, rank - 1, k, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < sizes[k]; ++i) wrong += data[i] != byte_at(i + k);
  }
  free(data);
  int all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, comm);
  return all_wrong == 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static const char* const values[] = {"lo-to-hi", "hi-to-lo", "random", "hi-to-lo", "sideways", "lo-to-hi"};
  int good = exchange(MPI_COMM_WORLD);
  MPI_Comm set, copy, begun, with_info;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &set);
  say(set, "nothing was said");
  for (int i = 0; i < 6; ++i) {
    MPI_Info info = info_with(values[i]);
    MPI_Comm_set_info(set, info);
    MPI_Info_free(&info);
    say(set, values[i]);
    good = exchange(set) && good;
  }
  MPI_Comm_dup(set, &copy);
  say(copy, "duplicate of lo-to-hi");
  MPI_Comm_idup(set, &begun, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say(begun, "duplicate of lo-to-hi that was begun");
  MPI_Info info = info_with("hi-to-lo");
  MPI_Comm_dup_with_info(set, info, &with_info);
  MPI_Info_free(&info);
  say(with_info, "duplicate with hi-to-lo");
  good = exchange(copy) && exchange(begun) && exchange(with_info) && good;
  MPI_Comm* const made[] = {&set, &copy, &begun, &with_info};
  for (int i = 0; i < 4; ++i) MPI_Comm_free(made[i]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%s\n", good ? "all data arrived" : "data is wrong");
  MPI_Finalize();
  return good ? 0 : 1;
}
