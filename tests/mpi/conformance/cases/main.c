/* The conformance program: runs its cases one after another on all ranks and prints `group/case ok (N checks)` for
   each, N over all ranks. Ends with 1 if a check failed. A case that hangs is named by every rank that is in it, after
   --hang-limit seconds. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance.h"

int my_rank, rank_count;
const int* sizes;
int size_total;

static const int all_sizes[] = {0,     1,      2,      3,      7,       8,       31,      32,     33,    63,
                                64,    65,     88,     89,     100,     144,     145,     256,    257,   1024,
                                4095,  4096,   4097,   8191,   8192,    8193,    16384,   32768,  65535, 65536,
                                65537, 100000, 262143, 524288, 1048575, 1048576, 1048577, 4194304};
static const int few_sizes[] = {0, 8, 64, 65, 4096, 8193, 65537, 1048577};

static const struct conformance_group groups[] = {
    {"point_to_point", point_to_point_cases},
    {"matching", matching_cases},
    {"requests", request_cases},
    {"persistent", persistent_cases},
    {"probes", probe_cases},
    {"datatypes", datatype_cases},
    {"communicators", communicator_cases},
    {"between_groups", between_groups_cases},
    {"errors", error_cases},
    {"buffers", buffer_cases},
    {"threads", thread_cases},
    {"collectives", collective_cases},
    {"persistent_collectives", persistent_collective_cases},
    {"own_operations", own_operation_cases},
    {"in_place", in_place_cases},
    {"neighborhoods", neighborhood_cases},
    {"one_sided", one_sided_cases},
    {"progress", progress_cases},
    {"blocking_calls", blocking_call_cases},
    /* Last: MPICH before 4.3 never clears the error of a user's function from its ring of 128 errors. Every later error
       that falls upon its place has the class that the function returned. */
    {"refusals", refusal_cases},
};
enum { group_total = sizeof groups / sizeof groups[0] };

static _Atomic long checks, failures;
static MPI_Comm control, signals;
static const char* running_group = "";
static const char* running_case = "";

static int noted_failure(void) { return atomic_fetch_add(&failures, 1) < 20; }

void check_that(int condition, const char* text, const char* file, int line) {
  atomic_fetch_add(&checks, 1);
  if (condition || !noted_failure()) return;
  fprintf(stderr, "rank %d, %s/%s: %s:%d: not so: %s\n", my_rank, running_group, running_case, file, line, text);
}

void check_equal(long long found, long long expected, const char* text, const char* file, int line) {
  atomic_fetch_add(&checks, 1);
  if (found == expected || !noted_failure()) return;
  fprintf(stderr, "rank %d, %s/%s: %s:%d: %s is %lld, expected %lld\n", my_rank, running_group, running_case, file,
          line, text, found, expected);
}

int error_class(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

uint64_t mix(uint64_t seed) {
  seed += 0x9e3779b97f4a7c15u;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
  return seed ^ (seed >> 31);
}

uint64_t next_number(struct random_numbers* from) { return mix(from->state++); }
uint64_t number_below(struct random_numbers* from, uint64_t limit) { return next_number(from) % limit; }

static uint64_t word_at(uint64_t start, size_t place) { return (start + place) * 0x9e3779b97f4a7c15u; }

void fill(void* buffer, size_t bytes, uint64_t seed) {
  const uint64_t start = mix(seed);
  for (size_t at = 0; at < bytes; at += 8) {
    const uint64_t word = word_at(start, at / 8);
    memcpy((char*)buffer + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
}

void verify(const void* buffer, size_t bytes, uint64_t seed, const char* file, int line) {
  atomic_fetch_add(&checks, 1);
  const uint64_t start = mix(seed);
  for (size_t at = 0; at < bytes; at += 8) {
    const uint64_t word = word_at(start, at / 8);
    if (memcmp((const char*)buffer + at, &word, bytes - at < 8 ? bytes - at : 8) == 0) continue;
    if (noted_failure())
      fprintf(stderr, "rank %d, %s/%s: %s:%d: wrong data from byte %zu of %zu on\n", my_rank, running_group,
              running_case, file, line, at, bytes);
    return;
  }
}

void verify_all(const void* buffer, size_t bytes, unsigned char value, const char* file, int line) {
  atomic_fetch_add(&checks, 1);
  for (size_t at = 0; at < bytes; ++at) {
    if (((const unsigned char*)buffer)[at] == value) continue;
    if (noted_failure())
      fprintf(stderr, "rank %d, %s/%s: %s:%d: byte %zu of %zu is %d, expected %d\n", my_rank, running_group,
              running_case, file, line, at, bytes, ((const unsigned char*)buffer)[at], value);
    return;
  }
}

int pair_peer(void) {
  const int peer = my_rank ^ 1;
  return peer < rank_count ? peer : MPI_PROC_NULL;
}

MPI_Comm make_between_even_and_odd(int is_of_library) {
  MPI_Comm half, made, copy;
  MPI_Request request;
  MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - my_rank % 2, 3, &made);
  MPI_Comm_free(&half);
  if (!is_of_library) return made;
  MPI_Comm_idup(made, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
  return copy;
}

void signal_to(int rank) { MPI_Send(NULL, 0, MPI_BYTE, rank, 1, signals); }
void wait_for_signal_of(int rank) { MPI_Recv(NULL, 0, MPI_BYTE, rank, 1, signals, MPI_STATUS_IGNORE); }

void* allocate(size_t bytes) {
  void* const memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "rank %d: no memory for %zu bytes\n", my_rank, bytes);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return memory;
}

void check_status(const MPI_Status* status, int source, int tag, int bytes, const char* file, int line) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  check_equal(status->MPI_SOURCE, source, "source of status", file, line);
  check_equal(status->MPI_TAG, tag, "tag of status", file, line);
  check_equal(count, bytes, "count of status", file, line);
}

void check_empty_status(MPI_Status* status, const char* file, int line) {
  int count = -1, cancelled = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  MPI_Test_cancelled(status, &cancelled);
  check_equal(status->MPI_SOURCE, MPI_ANY_SOURCE, "source of empty status", file, line);
  check_equal(status->MPI_TAG, MPI_ANY_TAG, "tag of empty status", file, line);
  check_equal(status->MPI_ERROR, MPI_SUCCESS, "error of empty status", file, line);
  check_equal(count, 0, "count of empty status", file, line);
  check_equal(cancelled, 0, "cancelled of empty status", file, line);
}

MPI_Status marked_status(void) {
  MPI_Status status;
  memset(&status, 0, sizeof status);
  MPI_Status_set_elements(&status, MPI_BYTE, 4711);
  status.MPI_SOURCE = 4712;
  status.MPI_TAG = 4713;
  status.MPI_ERROR = 0;
  return status;
}

void wait_by_test(MPI_Request* request, MPI_Status* status) {
  int done = 0;
  while (MPI_Test(request, &done, status) == MPI_SUCCESS && !done) usleep(20);
}

static void say_where_it_hangs(int signal) {
  (void)signal;
  char text[200];
  const int size = snprintf(text, sizeof text, "rank %d hangs in %s/%s\n", my_rank, running_group, running_case);
  const ssize_t written = write(STDERR_FILENO, text, (size_t)size);
  (void)written;
  _exit(3);
}

struct options {
  const char* only;
  const char* skip; /* names with commas around each: ",requests/a,requests/b," */
  int list;         /* the cases that so many ranks would run */
  int verbose;
  int few;
  int level; /* of threads */
  unsigned hang_limit;
};

static struct options read_options(int argc, char** argv) {
  struct options chosen = {.hang_limit = 300, .level = MPI_THREAD_MULTIPLE};
  for (int i = 1; i < argc; ++i) {
    const char* const value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--list") == 0 && value != NULL && atoi(value) > 0) {
      chosen.list = atoi(argv[++i]);
    } else if (strcmp(argv[i], "--verbose") == 0) {
      chosen.verbose = 1;
    } else if (strcmp(argv[i], "--only") == 0 && value != NULL) {
      chosen.only = argv[++i];
    } else if (strcmp(argv[i], "--funneled") == 0) {
      chosen.level = MPI_THREAD_FUNNELED; /* for cases that need no threads */
    } else if (strcmp(argv[i], "--skip") == 0 && value != NULL) {
      chosen.skip = argv[++i];
    } else if (strcmp(argv[i], "--hang-limit") == 0 && value != NULL && atoi(value) > 0) {
      chosen.hang_limit = (unsigned)atoi(argv[++i]);
    } else if (strcmp(argv[i], "--sizes") == 0 && value != NULL &&
               (strcmp(value, "few") == 0 || strcmp(value, "all") == 0)) {
      chosen.few = strcmp(argv[++i], "few") == 0;
    } else {
      fprintf(stderr,
              "usage: conformance [--list RANKS] [--only PART-OF-NAME] [--skip ,GROUP/CASE,...,] [--sizes few|all] "
              "[--verbose] [--funneled] "
              "[--hang-limit SECONDS]\n'%s' is not one of these, or lacks its value\n",
              argv[i]);
      exit(2);
    }
  }
  return chosen;
}

static int wanted(const struct options* chosen, const char* group, const struct conformance_case* each) {
  char name[200];
  snprintf(name, sizeof name, ",%s/%s,", group, each->name);
  if (chosen->skip != NULL && strstr(chosen->skip, name) != NULL) return 0;
  name[strlen(name) - 1] = '\0';
  return (chosen->only == NULL || strstr(name + 1, chosen->only) != NULL) && rank_count >= each->ranks_at_least;
}

/* Nothing may be left of a case. */
static void check_nothing_left(void) {
  int found = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status);
  CHECK_EQUAL(found, 0);
}

static int run_case(const struct options* chosen, const char* group, const struct conformance_case* each) {
  running_group = group;
  running_case = each->name;
  if (chosen->verbose && my_rank == 0) fprintf(stderr, "%s/%s begins\n", group, each->name);
  const double begun = MPI_Wtime();
  atomic_store(&checks, 0);
  atomic_store(&failures, 0);
  alarm(chosen->hang_limit);
  each->run();
  long mine[2], all[2];
  MPI_Barrier(control);
  check_nothing_left();
  mine[0] = atomic_load(&checks);
  mine[1] = atomic_load(&failures);
  MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, control);
  alarm(0);
  if (chosen->verbose && my_rank == 0) fprintf(stderr, "%s/%s took %.3f s\n", group, each->name, MPI_Wtime() - begun);
  if (my_rank == 0) {
    if (all[1] == 0) {
      printf("%s/%s ok (%ld checks)\n", group, each->name, all[0]);
    } else {
      printf("%s/%s FAILED (%ld of %ld checks)\n", group, each->name, all[1], all[0]);
    }
    fflush(stdout);
  }
  return all[1] == 0;
}

/* Needs no MPI. */
static void list_cases(const struct options* chosen) {
  rank_count = chosen->list;
  for (int group = 0; group < group_total; ++group) {
    for (const struct conformance_case* each = groups[group].cases; each->name != NULL; ++each)
      if (wanted(chosen, groups[group].name, each)) printf("%s/%s\n", groups[group].name, each->name);
  }
}

int main(int argc, char** argv) {
  int level = 0;
  const struct options chosen = read_options(argc, argv);
  if (chosen.list > 0) {
    list_cases(&chosen);
    return 0;
  }
  MPI_Init_thread(&argc, &argv, chosen.level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  sizes = chosen.few ? few_sizes : all_sizes;
  size_total = (int)(chosen.few ? sizeof few_sizes / sizeof few_sizes[0] : sizeof all_sizes / sizeof all_sizes[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_dup(MPI_COMM_WORLD, &signals);
  signal(SIGALRM, say_where_it_hangs);

  int good = chosen.level == MPI_THREAD_FUNNELED || level == MPI_THREAD_MULTIPLE;
  if (!good) fprintf(stderr, "rank %d: MPI_THREAD_MULTIPLE is not to be had: %d\n", my_rank, level);
  for (int group = 0; group < group_total; ++group) {
    for (const struct conformance_case* each = groups[group].cases; each->name != NULL; ++each) {
      if (wanted(&chosen, groups[group].name, each)) good = run_case(&chosen, groups[group].name, each) && good;
    }
  }
  MPI_Comm_free(&signals);
  MPI_Comm_free(&control);
  MPI_Finalize();
  return good ? 0 : 1;
}
