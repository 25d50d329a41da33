/* How programs begin and end. The first argument says how; the runner knows what each must print and with what it must
   end. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int my_rank, rank_count;

static void begin(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
}

/* What may be called at any time. */
static int before_and_after(void) {
  int begun = 9, ended = 9, version = 0, minor = 0, length = 0;
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  MPI_Get_version(&version, &minor);
  MPI_Get_library_version(text, &length);
  const int before = begun == 0 && ended == 0 && version >= 3 && length > 0;
  char* const early = malloc(100000); /* memory from before MPI as a buffer */
  memset(early, 7, 100000);
  begin();
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  const int between = begun == 1 && ended == 0;
  char* const in = malloc(100000);
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Sendrecv(early, 100000, MPI_BYTE, next, 1, in, 100000, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int same = memcmp(early, in, 100000) == 0;
  MPI_Finalize();
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  MPI_Get_version(&version, &minor);
  const int after = begun == 1 && ended == 1;
  free(early); /* and memory of that time is still good */
  in[99999] = 1;
  char* const late = malloc(5000000);
  memset(late, 1, 5000000);
  free(late);
  free(in);
  if (my_rank == 0) printf("before %d between %d same %d after %d\n", before, between, same, after);
  return 0;
}

static int level(int wanted) {
  int given = -1, asked = -1, main_thread = 0;
  MPI_Init_thread(NULL, NULL, wanted, &given);
  MPI_Query_thread(&asked);
  MPI_Is_thread_main(&main_thread);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  const int good = given >= wanted && asked == given && main_thread == 1;
  int all = 0;
  MPI_Reduce(&good, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (my_rank == 0) printf("level %d %s\n", wanted, all ? "ok" : "not given");
  MPI_Finalize();
  return 0;
}

/* Attributes of MPI_COMM_SELF are deleted first thing in MPI_Finalize, when messages still work. */
static int farewell(MPI_Comm of, int key, void* value, void* extra) {
  (void)of, (void)key, (void)value, (void)extra;
  int in = -1, ended = 9;
  MPI_Finalized(&ended);
  MPI_Sendrecv(&my_rank, 1, MPI_INT, my_rank ^ 1, 1, &in, 1, MPI_INT, my_rank ^ 1, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (my_rank == 0) printf("farewell: ended %d, from %d\n", ended, in);
  fflush(stdout);
  return MPI_SUCCESS;
}
/* They still have what was begun and sent before. */
static char large_in[200000], large_out[200000];
static MPI_Request last_requests[4];
static int last_requests_end(MPI_Comm of, int key, void* value, void* extra) {
  (void)of, (void)key, (void)value, (void)extra;
  const int peer = my_rank ^ 1;
  int early = -1, flag = 0, cancelled = 0;
  MPI_Status statuses[4];
  MPI_Startall(2, last_requests);
  MPI_Testall(2, last_requests, &flag, statuses);
  MPI_Waitall(2, last_requests, statuses);
  MPI_Recv(&early, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&last_requests[2], MPI_STATUS_IGNORE);
  MPI_Cancel(&last_requests[3]);
  MPI_Wait(&last_requests[3], &statuses[3]);
  MPI_Test_cancelled(&statuses[3], &cancelled);
  MPI_Request_free(&last_requests[0]);
  MPI_Request_free(&last_requests[1]);
  const int good = large_in[0] == peer + 1 && large_in[199999] == peer + 1 && early == peer + 70 && cancelled &&
                   last_requests[0] == MPI_REQUEST_NULL;
  int all = 0;
  MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (my_rank == 0) printf("last requests %s\n", all ? "ok" : "wrong");
  fflush(stdout);
  return MPI_SUCCESS;
}
static int with_last_requests(void) {
  begin();
  const int peer = my_rank ^ 1;
  int key, never, value = my_rank + 70;
  memset(large_out, my_rank + 1, sizeof large_out);
  MPI_Recv_init(large_in, sizeof large_in, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &last_requests[0]);
  MPI_Send_init(large_out, sizeof large_out, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &last_requests[1]);
  MPI_Isend(&value, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &last_requests[2]);
  MPI_Irecv(&never, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &last_requests[3]);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_requests_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_free_keyval(&key);
  MPI_Finalize();
  return 0;
}
static int with_farewell(void) {
  begin();
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, farewell, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Finalize();
  return 0;
}

/* Small messages that nobody receives, and receives that get nothing; requests of both are given up. */
static int unmatched(void) {
  begin();
  for (int i = 0; i < 50; ++i) MPI_Send(&i, 1, MPI_INT, (my_rank + 1) % rank_count, 77, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) printf("to the end\n");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}

static int aborted(void) {
  begin();
  if (my_rank == 0) printf("one aborts\n");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  int never = 0;
  MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("never reached\n");
  return 0;
}

static int killed(void) {
  begin();
  if (my_rank == 0) printf("one is killed\n");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 1) kill(getpid(), SIGKILL);
  int never = 0;
  MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("never reached\n");
  return 0;
}

static int with_status(void) {
  begin();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return my_rank == 1 ? 5 : 0;
}

/* Without handlers errors end the job. */
static int fatal_error(void) {
  begin();
  if (my_rank == 0) printf("an error\n");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  int in[2] = {0, 0};
  if (my_rank == 0) MPI_Send(in, 2, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (my_rank == 1) MPI_Recv(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("never reached\n");
  return 0;
}

static int fatal_error_in_list(void) {
  begin();
  int in[2] = {0, 0};
  MPI_Request both[2];
  MPI_Irecv(in, 1, MPI_INT, 1 - my_rank, 1, MPI_COMM_WORLD, &both[0]);
  MPI_Isend(in, my_rank == 0 ? 2 : 1, MPI_INT, 1 - my_rank, 1, MPI_COMM_WORLD, &both[1]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("never reached\n");
  return 0;
}

static int fatal_error_of_window(void) {
  begin();
  int *memory = NULL, value = 0;
  MPI_Win window;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_set_name(window, "halo");
  MPI_Win_fence(0, window);
  if (my_rank == 1) MPI_Put(&value, 1, MPI_INT, rank_count, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("never reached\n");
  return 0;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*run)(void);
  } ways[] = {{"before_and_after", before_and_after},
              {"farewell", with_farewell},
              {"last_requests", with_last_requests},
              {"unmatched", unmatched},
              {"aborted", aborted},
              {"killed", killed},
              {"status", with_status},
              {"fatal_error", fatal_error},
              {"fatal_error_in_list", fatal_error_in_list},
              {"fatal_error_of_window", fatal_error_of_window}};
  const char* const chosen = argc > 1 ? argv[1] : "";
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
    if (strcmp(chosen, ways[i].name) == 0) return ways[i].run();
  }
  static const struct {
    const char* name;
    int level;
  } levels[] = {{"single", MPI_THREAD_SINGLE},
                {"funneled", MPI_THREAD_FUNNELED},
                {"serialized", MPI_THREAD_SERIALIZED},
                {"multiple", MPI_THREAD_MULTIPLE}};
  for (int i = 0; i < 4; ++i) {
    if (strcmp(chosen, levels[i].name) == 0) return level(levels[i].level);
  }
  fprintf(stderr,
          "endings: '%s' is not one of before_and_after, farewell, last_requests, unmatched, aborted, killed, status, "
          "fatal_error, fatal_error_in_list, fatal_error_of_window, single, funneled, serialized, multiple\n",
          chosen);
  return 2;
}
