/* What the rows of `trireme bench mpi` and `coll`, and `trireme tune --collectives`, are measured with: an ordinary MPI
   program, built by the compiler of each MPI. bench/mpi/comparison.cpp starts it and reads its lines.

     mpi_measure WHAT --cpus 0,1 --seconds S [--bytes B] [--compute-ms C] [--batch-ms M] [--pattern P] [--fresh 1]
                 [--wait barrier|receive] [--largest B] [--together 1] [--groups 1]

   Rank i binds itself to the i-th of the CPUs, from the front again when there are fewer. Rank 0 prints lines that
   begin with the name of a series and go on with its samples, nanoseconds each (percent for `overlap`, bytes for
   `memory`), and then `done`. A sample is the mean of a batch of a fraction of a millisecond, or one operation when
   that takes longer. With --groups 1 `sweep` and `collectives` are of an inter-communicator of both halves of the
   ranks. Buffers are used again and again, which flatters everybody alike, but with --fresh 1: then each message of a
   `sweep` lies where none has been for 64 MiB. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int my_rank, rank_count;
static double seconds = 0.3, compute_ms = 200, batch_ms = 0.3;
static long bytes = 8;

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static void compute_until(double end_ns) {
  volatile double value = 1;
  while (now_ns() < end_ns) {
    for (int i = 0; i < 200; ++i) value = value * 0.999999 + 1e-6;
  }
}
static void* allocate(size_t size) {
  void* const memory = aligned_alloc(4096, (size + 8191) / 4096 * 4096);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  memset(memory, 1, size);
  return memory;
}

static struct {
  double* values;
  size_t count, room;
} series;
static void add_sample(double value) {
  if (series.count == series.room) {
    series.room = series.room == 0 ? 256 : 2 * series.room;
    series.values = realloc(series.values, series.room * sizeof *series.values);
    if (series.values == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  series.values[series.count++] = value;
}
static void print_series(const char* name) {
  if (my_rank == 0) {
    printf("%s", name);
    for (size_t i = 0; i < series.count; ++i) printf(" %.1f", series.values[i]);
    printf("\n");
  }
  series.count = 0;
}

/* Calls operation(n) on the ranks that take part until rank 0 finds that the time is over; samples are of rank 0, per
   operation and divided by `parts`. `partner`: who is told by rank 0 how many operations come next. */
typedef void operation(long count);
static void measure(operation* run, int partners, double parts) {
  const double batch_ns = batch_ms * 1e6;
  double elapsed = 0, per_operation = 0, least = 1e18, total_ns = 0, total = 0;
  long count = 1;
  const double warm_up = seconds < 0.2 ? 2e7 : 1e8;
  double end = now_ns() + warm_up; /* warm-up, and how many operations make a batch */
  int warm = 0;
  for (;;) {
    if (my_rank == 0) {
      if (!warm && (now_ns() > end || elapsed > warm_up)) {
        warm = 1;
        series.count = 0;
        end = now_ns() + seconds * 1e9;
      }
      if (per_operation > 0) {
        /* Long batches are for what comes in bursts: by the mean, and not much longer than the last one. */
        const double typical = batch_ms < 5 ? least : total_ns / total;
        const long most = batch_ms < 5 ? 1L << 40 : 4 * count;
        count = (long)(batch_ns / typical) > 1 ? (long)(batch_ns / typical) : 1;
        if (count > most) count = most;
      }
      if (warm && now_ns() > end && series.count >= 3) count = 0;
    }
    for (int rank = 1; rank < partners && my_rank == 0; ++rank) MPI_Send(&count, 1, MPI_LONG, rank, 99, MPI_COMM_WORLD);
    if (my_rank > 0) MPI_Recv(&count, 1, MPI_LONG, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (count == 0) return;
    run(1); /* everybody is there */
    const double start = now_ns();
    run(count);
    elapsed = now_ns() - start;
    per_operation = elapsed / (double)count;
    if (per_operation < least) least = per_operation;
    total_ns += elapsed;
    total += (double)count;
    if (my_rank == 0) add_sample(per_operation / parts);
  }
}

/* Of what is measured with --groups, and the root of its collectives as this rank names it. */
static MPI_Comm comm = MPI_COMM_WORLD;
static int groups, root;
static void make_groups(void) {
  MPI_Comm half;
  const int is_high = my_rank >= rank_count / 2;
  MPI_Comm_split(MPI_COMM_WORLD, is_high, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_high ? 0 : rank_count / 2, 1, &comm);
  MPI_Comm_free(&half);
  if (!is_high) root = my_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

static char *buffer_out, *buffer_in;
static MPI_Datatype sent_type;
static int sent_count;

static void ping_pong(long count) {
  for (long i = 0; i < count; ++i) {
    if (my_rank == 0) {
      MPI_Send(buffer_out, sent_count, sent_type, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(buffer_in, sent_count, sent_type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(buffer_in, sent_count, sent_type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer_out, sent_count, sent_type, 0, 1, MPI_COMM_WORLD);
    }
  }
}

/* 64 messages in flight, then an answer. */
enum { in_flight = 64 };
static void stream(long count) {
  MPI_Request requests[in_flight];
  for (long i = 0; i < count; ++i) {
    for (int k = 0; k < in_flight; ++k) {
      if (my_rank == 0) MPI_Isend(buffer_out, sent_count, sent_type, 1, 1, MPI_COMM_WORLD, &requests[k]);
      if (my_rank == 1) MPI_Irecv(buffer_in, sent_count, sent_type, 0, 1, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(in_flight, requests, MPI_STATUSES_IGNORE);
    if (my_rank == 0) MPI_Recv(buffer_in, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (my_rank == 1) MPI_Send(buffer_out, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  }
}

/* `sweep`: one pattern of messages, in all sizes. Each message of a rank has the next place of an area. */
static const long sweep_sizes[] = {8,    64,    128,   256,   512,    1024,   2048,    4096,
                                   8192, 16384, 32768, 65536, 131072, 524288, 1048576, 4194304};
enum { sweep_size_count = sizeof sweep_sizes / sizeof sweep_sizes[0], largest_area = 64 << 20 };
static const char* pattern = "one_way";
static int fresh;
static long area_places, next_out, next_in;

static char* place_out(void) { return buffer_out + next_out++ % area_places * sent_count; }
static char* place_in(void) { return buffer_in + next_in++ % area_places * sent_count; }
static int window(void) { return sent_count > 65536 ? in_flight / 4 : in_flight; }

/* The first rank of each half, which are on different hosts where there are two. */
static void one_way(long count) {
  const int half = rank_count / 2, other = groups || my_rank > 0 ? 0 : half;
  for (long i = 0; i < count && my_rank % half == 0; ++i) {
    if (my_rank == 0) MPI_Send(place_out(), sent_count, MPI_BYTE, other, 1, comm);
    MPI_Recv(place_in(), sent_count, MPI_BYTE, other, 1, comm, MPI_STATUS_IGNORE);
    if (my_rank == half) MPI_Send(place_out(), sent_count, MPI_BYTE, other, 1, comm);
  }
}
/* From even ranks to the next ones: a window of messages, then an answer. */
static void one_direction(long count) {
  MPI_Request requests[in_flight];
  const int sends = my_rank % 2 == 0, other = my_rank ^ 1;
  for (long i = 0; i < count; ++i) {
    for (int k = 0; k < window(); ++k) {
      if (sends)
        MPI_Isend(place_out(), sent_count, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[k]);
      else
        MPI_Irecv(place_in(), sent_count, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(window(), requests, MPI_STATUSES_IGNORE);
    if (sends)
      MPI_Recv(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD);
  }
}
static void both_directions(long count) {
  MPI_Request requests[2 * in_flight];
  const int other = my_rank ^ 1;
  for (long i = 0; i < count; ++i) {
    for (int k = 0; k < window(); ++k)
      MPI_Irecv(place_in(), sent_count, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[k]);
    for (int k = 0; k < window(); ++k)
      MPI_Isend(place_out(), sent_count, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[window() + k]);
    MPI_Waitall(2 * window(), requests, MPI_STATUSES_IGNORE);
  }
}
static void sweep(void) {
  for (int i = 0; i < sweep_size_count; ++i) {
    sent_count = (int)sweep_sizes[i];
    area_places = fresh ? largest_area / sent_count : 1;
    if (strcmp(pattern, "one_way") == 0) {
      measure(one_way, rank_count, 2);
    } else if (strcmp(pattern, "stream") == 0 || strcmp(pattern, "pairs") == 0) {
      measure(one_direction, rank_count, window());
    } else if (strcmp(pattern, "both") == 0) {
      measure(both_directions, rank_count, 2 * window());
    } else {
      if (my_rank == 0)
        fprintf(stderr, "mpi_measure: the pattern '%s' is not one of one_way, stream, both, pairs\n", pattern);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char name[32];
    snprintf(name, sizeof name, "%ld", sweep_sizes[i]);
    print_series(name);
  }
}

static void sum_up(long count) {
  for (long i = 0; i < count; ++i) MPI_Allreduce(buffer_out, buffer_in, sent_count, MPI_DOUBLE, MPI_SUM, comm);
}

static void running_sums(long count) {
  for (long i = 0; i < count; ++i) MPI_Scan(buffer_out, buffer_in, sent_count, MPI_DOUBLE, MPI_SUM, comm);
}

/* `collectives`: those that --pattern names, with commas between, in all sizes up to --largest. Sizes are of a vector,
   or of the block of one rank. */
static const long collective_sizes[] = {8, 1024, 65536, 1048576};
enum { collective_size_count = sizeof collective_sizes / sizeof collective_sizes[0] };
static long largest_of_collectives = 1048576;
static int together;

static void broadcasts(long count) {
  for (long i = 0; i < count; ++i) MPI_Bcast(buffer_out, sent_count, MPI_DOUBLE, root, comm);
}
static void gathers(long count) {
  for (long i = 0; i < count; ++i)
    MPI_Gather(buffer_out, sent_count, MPI_DOUBLE, buffer_in, sent_count, MPI_DOUBLE, root, comm);
}
static void scatters(long count) {
  for (long i = 0; i < count; ++i)
    MPI_Scatter(buffer_out, sent_count, MPI_DOUBLE, buffer_in, sent_count, MPI_DOUBLE, root, comm);
}
static void allgathers(long count) {
  for (long i = 0; i < count; ++i)
    MPI_Allgather(buffer_out, sent_count, MPI_DOUBLE, buffer_in, sent_count, MPI_DOUBLE, comm);
}
static void exchanges(long count) {
  for (long i = 0; i < count; ++i)
    MPI_Alltoall(buffer_out, sent_count, MPI_DOUBLE, buffer_in, sent_count, MPI_DOUBLE, comm);
}
static void sums_of_one(long count) {
  for (long i = 0; i < count; ++i) MPI_Reduce(buffer_out, buffer_in, sent_count, MPI_DOUBLE, MPI_SUM, root, comm);
}
static void scattered_sums(long count) {
  for (long i = 0; i < count; ++i)
    MPI_Reduce_scatter_block(buffer_out, buffer_in, sent_count, MPI_DOUBLE, MPI_SUM, comm);
}
static void barriers(long count) {
  for (long i = 0; i < count; ++i) MPI_Barrier(comm);
}
static const struct {
  const char* name;
  operation* run;
} collective_table[] = {
    {"bcast", broadcasts},   {"gather", gathers},     {"scatter", scatters}, {"allgather", allgathers},
    {"alltoall", exchanges}, {"reduce", sums_of_one}, {"allreduce", sum_up}, {"reduce_scatter", scattered_sums},
    {"scan", running_sums},  {"barrier", barriers}};
/* All processes of this machine have this clock, also those in other network namespaces. */
static void wait_until(double when_ns) {
  const double margin_ns = 2e5; /* a sleep may end late, and then a rank is not there */
  const double wake_ns = when_ns - margin_ns;
  const struct timespec wake = {(time_t)(wake_ns / 1e9), (long)(wake_ns - 1e9 * (double)(time_t)(wake_ns / 1e9))};
  if (now_ns() < wake_ns) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
  while (now_ns() < when_ns) sched_yield();
}
/* With --together: all ranks enter each operation at the same time, and a sample is the time until the last has left
   it. So an operation that the root leaves at once does not count as done before its data has arrived. */
static void measure_together(operation* run) {
  enum { most = 10 };
  double ends[most], last_ends[most], mean = 1e6, end = now_ns() + (seconds + (seconds < 0.2 ? 0.02 : 0.1)) * 1e9;
  for (int warm = 0;; ++warm) {
    /* The first begin, the time from one to the next, and how many: fewer where ranks that spin make them slow. */
    double plan[3] = {now_ns() + 3 * mean + 2e6, 2 * mean + 5e5, mean < 1e7 ? most : 3};
    if (my_rank == 0 && warm > 1 && now_ns() > end) plan[0] = 0;
    MPI_Bcast(plan, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (plan[0] == 0) return;
    const int batch = (int)plan[2];
    for (int i = 0; i < batch; ++i) {
      wait_until(plan[0] + i * plan[1]);
      run(1);
      ends[i] = now_ns() - (plan[0] + i * plan[1]);
    }
    MPI_Reduce(ends, last_ends, batch, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (my_rank > 0) continue;
    mean = 0;
    for (int i = 0; i < batch; ++i) mean += last_ends[i] / batch;
    for (int i = 0; i < batch && warm > 0; ++i) add_sample(last_ends[i]);
  }
}
static void collective(const char* name, operation* run) {
  for (int i = 0; i < collective_size_count && collective_sizes[i] <= largest_of_collectives; ++i) {
    if (run == barriers && i > 0) break;
    sent_count = (int)(collective_sizes[i] / 8);
    if (together)
      measure_together(run);
    else
      measure(run, rank_count, 1);
    char series_name[64];
    snprintf(series_name, sizeof series_name, "%s/%ld", name, collective_sizes[i]);
    print_series(series_name);
  }
}
static void collectives(void) {
  char names[256];
  int is_first = 1;
  snprintf(names, sizeof names, "%s", pattern);
  for (const char* name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
    operation* run = NULL;
    for (size_t i = 0; i < sizeof collective_table / sizeof collective_table[0]; ++i)
      if (strcmp(collective_table[i].name, name) == 0) run = collective_table[i].run;
    if (run == NULL) {
      if (my_rank == 0) fprintf(stderr, "mpi_measure: there is no collective '%s'\n", name);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (together && is_first) { /* the first operations of a job connect its ranks; not one of the figures */
      sent_count = 1;
      measure_together(run);
      series.count = 0;
      is_first = 0;
    }
    collective(name, run);
  }
}

/* `pairs`: each rank of the first half sends a stream to one of the second half, which are those of another host. The
   barrier ends with the slowest pair. */
static void streams_of_pairs(long count) {
  MPI_Request requests[in_flight];
  const int half = rank_count / 2, sends = my_rank < half, other = (my_rank + half) % rank_count;
  for (long i = 0; i < count; ++i) {
    for (int k = 0; k < in_flight; ++k) {
      if (sends)
        MPI_Isend(buffer_out, sent_count, sent_type, other, 1, MPI_COMM_WORLD, &requests[k]);
      else
        MPI_Irecv(buffer_in, sent_count, sent_type, other, 1, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(in_flight, requests, MPI_STATUSES_IGNORE);
    if (sends)
      MPI_Recv(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Two ranks measure, all others wait in a barrier. */
static void between_two(operation* run, double parts, const char* name) {
  if (my_rank < 2) measure(run, 2, parts);
  MPI_Barrier(MPI_COMM_WORLD);
  print_series(name);
}

/* `idle`: two ranks exchange messages of some sizes, and each reads what it has received from the first byte to the
   last; all others wait in a barrier or a receive until the end. `vector`: a plane of a grid of doubles whose middle
   extent is 2: pieces of 256 doubles, each second one, on both sides. */
static const long idle_sizes[] = {8, 65536, 1048576, 8388608};
enum { idle_size_count = sizeof idle_sizes / sizeof idle_sizes[0], idle_largest = 8388608, piece = 256 };
static const char* wait_in = "barrier";
static long spread; /* from the first byte of a message to the last */

/* Whether it is the second of the two words that it may be. */
static int is_second(const char* word, const char* first, const char* second) {
  if (strcmp(word, second) == 0) return 1;
  if (strcmp(word, first) == 0) return 0;
  if (my_rank == 0) fprintf(stderr, "mpi_measure: '%s' is not one of %s, %s\n", word, first, second);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return 0;
}
static void read_through(const volatile char* memory) {
  for (long i = 0; i < spread; i += 64) (void)memory[i];
}
static void touched_ping_pong(long count) {
  for (long i = 0; i < count; ++i) {
    if (my_rank == 0) MPI_Send(buffer_out, sent_count, sent_type, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(buffer_in, sent_count, sent_type, 1 - my_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    read_through(buffer_in);
    if (my_rank == 1) MPI_Send(buffer_out, sent_count, sent_type, 0, 1, MPI_COMM_WORLD);
  }
}
static void beside_idle_ranks(void) {
  const int is_vector = is_second(pattern, "contiguous", "vector");
  const int in_receive = is_second(wait_in, "barrier", "receive");
  for (int i = 0; i < idle_size_count; ++i) {
    const int pieces = (int)(idle_sizes[i] / (8 * piece));
    if (is_vector && pieces == 0) continue;
    spread = idle_sizes[i] * (is_vector ? 2 : 1);
    sent_count = is_vector ? 1 : (int)idle_sizes[i];
    if (is_vector) {
      MPI_Type_vector(pieces, piece, 2 * piece, MPI_DOUBLE, &sent_type);
      MPI_Type_commit(&sent_type);
    }
    if (my_rank < 2) measure(touched_ping_pong, 2, 2);
    char name[32];
    snprintf(name, sizeof name, "%ld", idle_sizes[i]);
    print_series(name);
    if (is_vector) MPI_Type_free(&sent_type);
  }
  for (int rank = 2; rank < rank_count && in_receive; ++rank) {
    if (my_rank == 0) MPI_Send(NULL, 0, MPI_BYTE, rank, 3, MPI_COMM_WORLD);
    if (my_rank == rank) MPI_Recv(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* `fences`: rank 0 adds doubles to the window of rank 1, or puts them there, and all ranks wait in the fence behind. */
static const long fence_sizes[] = {8, 131072, 1048576, 8388608};
enum { fence_size_count = sizeof fence_sizes / sizeof fence_sizes[0], fence_largest = 8388608 };
static MPI_Win fenced;

static void accumulates(long count) {
  for (long i = 0; i < count; ++i) {
    if (my_rank == 0) MPI_Accumulate(buffer_out, sent_count, MPI_DOUBLE, 1, 0, sent_count, MPI_DOUBLE, MPI_SUM, fenced);
    MPI_Win_fence(0, fenced);
  }
}
static void puts_of_rank_0(long count) {
  for (long i = 0; i < count; ++i) {
    if (my_rank == 0) MPI_Put(buffer_out, sent_count, MPI_DOUBLE, 1, 0, sent_count, MPI_DOUBLE, fenced);
    MPI_Win_fence(0, fenced);
  }
}
static void fences(void) {
  operation* const run = is_second(pattern, "accumulate", "put") ? puts_of_rank_0 : accumulates;
  double* memory;
  MPI_Win_allocate(fence_largest, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &fenced);
  for (long i = 0; i < fence_largest / 8; ++i) memory[i] = 1;
  for (long i = 0; i < fence_largest / 8; ++i) ((double*)buffer_out)[i] = 1;
  MPI_Win_fence(0, fenced);
  for (int i = 0; i < fence_size_count; ++i) {
    sent_count = (int)(fence_sizes[i] / 8);
    measure(run, rank_count, 1);
    char name[32];
    snprintf(name, sizeof name, "%ld", fence_sizes[i]);
    print_series(name);
  }
  MPI_Win_fence(0, fenced);
  MPI_Win_free(&fenced);
}

/* `costs`: what coll/cost_fit.hpp makes parameters of. Messages between rank 0 and another of its host, and one of
   another host; signals through shared memory; copies and sums. A series that needs a rank which is not there is not
   printed. Ranks that take no part wait for the next count. */
static const long cost_sizes[] = {8, 1024, 8192, 65536, 262144, 1048576};
enum { cost_size_count = sizeof cost_sizes / sizeof cost_sizes[0], cost_largest = 1048576 };
static int partner; /* of rank 0 */
static int window_of_bursts;

static void to_partner_and_back(long count) {
  for (long i = 0; i < count; ++i) {
    if (my_rank == 0) MPI_Send(buffer_out, sent_count, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
    if (my_rank == 0 || my_rank == partner)
      MPI_Recv(buffer_in, sent_count, MPI_BYTE, partner - my_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (my_rank == partner) MPI_Send(buffer_out, sent_count, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}
static void bursts(long count) {
  for (long i = 0; i < count; ++i) {
    for (int k = 0; k < window_of_bursts; ++k) {
      if (my_rank == 0) MPI_Send(buffer_out, 8, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
      if (my_rank == partner) MPI_Recv(buffer_in, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (my_rank == 0) MPI_Recv(buffer_in, 8, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (my_rank == partner) MPI_Send(buffer_out, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  }
}
static void time_send_calls(void) {
  enum { calls = 200 };
  for (int i = 0; i < calls; ++i) {
    if (my_rank == 0) {
      MPI_Request request;
      const double start = now_ns();
      MPI_Isend(buffer_out, 8, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request);
      add_sample(now_ns() - start);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Recv(buffer_in, 8, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (my_rank == partner) {
      MPI_Recv(buffer_in, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer_out, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
  }
}
static int* signals; /* in shared memory, a cache line apart; one for each direction */
static void wait_for_signal(const int* word, int value) {
  for (int polls = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; ++polls)
    if (polls >= 100) sched_yield(); /* the partner may share our core */
}
static void signal_and_back(long count) {
  enum { line = 64 / sizeof *signals };
  for (long i = 0; i < count; ++i) {
    if (my_rank == 0) {
      const int value = signals[0] + 1;
      __atomic_store_n(&signals[0], value, __ATOMIC_RELEASE); /* read by the partner's wait_for_signal */
      wait_for_signal(&signals[line], value);
    } else if (my_rank == partner) {
      const int value = signals[line] + 1;
      wait_for_signal(&signals[0], value);
      __atomic_store_n(&signals[line], value, __ATOMIC_RELEASE); /* read by the wait_for_signal of rank 0 */
    }
  }
}
static void copies(long count) {
  for (long i = 0; i < count && my_rank == 0; ++i) {
    memcpy(buffer_in, buffer_out, (size_t)sent_count);
    __asm__ volatile("" ::"r"(buffer_in) : "memory"); /* the copy must be made */
  }
}
static void sums(long count) {
  double* const to = (double*)buffer_in;
  const double* const from = (double*)buffer_out;
  for (long i = 0; i < count && my_rank == 0; ++i) {
    for (int k = 0; k < sent_count / 8; ++k) to[k] += from[k];
    __asm__ volatile("" ::"r"(to) : "memory");
  }
}
static void measure_sizes(const char* name, operation* run, double parts) {
  for (int i = 0; i < cost_size_count; ++i) {
    char series_name[64];
    sent_count = (int)cost_sizes[i];
    measure(run, rank_count, parts);
    snprintf(series_name, sizeof series_name, "%s/%ld", name, cost_sizes[i]);
    print_series(series_name);
  }
}
static void measure_signals(MPI_Comm host) {
  MPI_Win window;
  MPI_Aint bytes_there;
  int unit, rank_there;
  MPI_Comm_rank(host, &rank_there);
  MPI_Win_allocate_shared(rank_there == 0 ? 128 : 0, 1, MPI_INFO_NULL, host, &signals, &window);
  MPI_Win_shared_query(window, 0, &bytes_there, &unit, &signals);
  if (rank_there == 0) memset(signals, 0, 128);
  MPI_Barrier(MPI_COMM_WORLD);
  measure(signal_and_back, rank_count, 2);
  print_series("signal");
  MPI_Win_free(&window);
}
static void costs(void) {
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int leader = my_rank, mate = -1, stranger = -1;
  int* const leaders = allocate((size_t)rank_count * sizeof *leaders);
  MPI_Bcast(&leader, 1, MPI_INT, 0, host);
  MPI_Allgather(&leader, 1, MPI_INT, leaders, 1, MPI_INT, MPI_COMM_WORLD);
  for (int rank = rank_count - 1; rank > 0; --rank) *(leaders[rank] == 0 ? &mate : &stranger) = rank;
  free(leaders);
  measure_sizes("copy", copies, 1);
  measure_sizes("sum", sums, 1);
  if ((partner = mate) > 0) {
    measure_sizes("inside", to_partner_and_back, 2);
    measure_signals(host);
  }
  if ((partner = stranger) > 0) {
    measure_sizes("between", to_partner_and_back, 2);
    time_send_calls();
    print_series("send");
    window_of_bursts = 1;
    measure(bursts, rank_count, 1);
    print_series("burst/1");
    window_of_bursts = in_flight;
    measure(bursts, rank_count, 1);
    print_series("burst/64");
  }
  MPI_Comm_free(&host);
}

/* How much of the time of a transfer disappears behind the receiver's computation: 1 - (what the receiver spends in MPI
   with computation) / (the same without). `bytes` of chars with a step of `step`, twice, as a halo would be sent. */
static double transfer(double computation_ms, int step) {
  MPI_Datatype type;
  MPI_Request requests[2];
  double in_mpi = 0;
  const long apart = step == 1 ? bytes : 1; /* the second one behind the first, or between its pieces */
  MPI_Type_vector((int)bytes, 1, step, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  const int sender = rank_count / 2; /* on the other host, where there are two */
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now_ns();
  for (int i = 0; i < 2; ++i) {
    requests[i] = MPI_REQUEST_NULL;
    if (my_rank == 0) MPI_Irecv(buffer_in + i * apart, 1, type, sender, i, MPI_COMM_WORLD, &requests[i]);
    if (my_rank == sender) MPI_Isend(buffer_out + i * apart, 1, type, 0, i, MPI_COMM_WORLD, &requests[i]);
  }
  in_mpi = now_ns() - start;
  if (my_rank == 0 && computation_ms > 0) compute_until(now_ns() + computation_ms * 1e6);
  const double later = now_ns();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  in_mpi += now_ns() - later;
  MPI_Type_free(&type);
  return in_mpi;
}
static void overlap(int step) {
  const double end = now_ns() + seconds * 1e9;
  transfer(0, step);
  for (int more = 1; more;) {
    double alone = 1e18;
    for (int i = 0; i < 3; ++i) {
      const double once = transfer(0, step);
      if (once < alone) alone = once;
    }
    const double left = transfer(compute_ms, step);
    if (my_rank == 0) add_sample(100 * (left < alone ? 1 - left / alone : 0));
    more = now_ns() < end || series.count < 3;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  print_series("overlap");
}

/* Lock, get and unlock, while the target waits in MPI or computes without a call. */
static void passive_get(void) {
  MPI_Win window;
  MPI_Win_create(buffer_out, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  static const char* const names[] = {"idle", "busy"};
  for (int busy = 0; busy < 2; ++busy) {
    for (int round = 0; round < 3; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double end = now_ns() + seconds / 3 * 1e9;
      if (my_rank == 0) {
        while (now_ns() < end) {
          const double start = now_ns();
          long count = 0;
          for (; count == 0 || (count < 100 && now_ns() - start < 3e5); ++count) {
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
            MPI_Get(buffer_in, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, window);
            MPI_Win_unlock(1, window);
          }
          add_sample((now_ns() - start) / (double)count);
        }
      } else if (my_rank == 1 && busy) {
        compute_until(end + compute_ms * 1e6); /* longer than the other side measures */
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    print_series(names[busy]);
  }
  MPI_Win_free(&window);
}

/* Resident bytes of this process. */
static double resident(void) {
  long all = 0, pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &all, &pages) != 2) MPI_Abort(MPI_COMM_WORLD, 3);
  fclose(file);
  return (double)pages * 4096;
}

static void bind_to(const char* cpus) {
  int numbers[256], count = 0;
  for (const char* at = cpus; *at != '\0' && count < 256;) {
    char* end = NULL;
    numbers[count++] = (int)strtol(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  if (count == 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(numbers[my_rank % count], &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) perror("mpi_measure: sched_setaffinity");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  const char* const what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "memory") == 0) add_sample(resident());
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--cpus") == 0) bind_to(argv[i + 1]);
    if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
    if (strcmp(argv[i], "--bytes") == 0) bytes = atol(argv[i + 1]);
    if (strcmp(argv[i], "--batch-ms") == 0) batch_ms = atof(argv[i + 1]);
    if (strcmp(argv[i], "--compute-ms") == 0) compute_ms = atof(argv[i + 1]);
    if (strcmp(argv[i], "--pattern") == 0) pattern = argv[i + 1];
    if (strcmp(argv[i], "--fresh") == 0) fresh = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--wait") == 0) wait_in = argv[i + 1];
    if (strcmp(argv[i], "--largest") == 0) largest_of_collectives = atol(argv[i + 1]);
    if (strcmp(argv[i], "--together") == 0) together = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--groups") == 0) groups = atoi(argv[i + 1]);
  }
  if (groups) make_groups();
  enum { step = 64 }; /* of the vectors of `overlap_vector` */
  const int sweeps = strcmp(what, "sweep") == 0;
  if (strcmp(what, "collectives") == 0) bytes = largest_of_collectives * rank_count / 2;
  if (strcmp(what, "idle") == 0) bytes = idle_largest;
  if (strcmp(what, "fences") == 0) bytes = fence_largest;
  if (strcmp(what, "costs") == 0) bytes = cost_largest;
  const size_t room = sweeps                                ? (fresh ? largest_area : 4 << 20)
                      : strcmp(what, "overlap_vector") == 0 ? (size_t)bytes * step
                                                            : 2 * (size_t)bytes;
  if (sweeps) seconds /= 2; /* of each size, with a short warm-up */
  buffer_out = allocate(room + 64);
  buffer_in = allocate(room + 64);
  sent_type = MPI_BYTE;
  sent_count = (int)bytes;
  if (sweeps) {
    sweep();
  } else if (strcmp(what, "collectives") == 0) {
    collectives();
  } else if (strcmp(what, "idle") == 0) {
    beside_idle_ranks();
  } else if (strcmp(what, "fences") == 0) {
    fences();
  } else if (strcmp(what, "costs") == 0) {
    costs();
  } else if (strcmp(what, "latency") == 0) {
    between_two(ping_pong, 2, "latency");
  } else if (strcmp(what, "vector") == 0) {
    MPI_Type_vector((int)(bytes / 8), 1, 2, MPI_DOUBLE, &sent_type); /* every second double, on both sides */
    MPI_Type_commit(&sent_type);
    sent_count = 1;
    between_two(ping_pong, 2, "vector");
    MPI_Type_free(&sent_type);
  } else if (strcmp(what, "rate") == 0) {
    between_two(stream, in_flight, "rate");
  } else if (strcmp(what, "pairs") == 0) {
    measure(streams_of_pairs, rank_count, (double)in_flight * rank_count / 2);
    print_series("rate");
  } else if (strcmp(what, "allreduce") == 0) {
    sent_count = (int)(bytes / 8);
    measure(sum_up, rank_count, 1);
    print_series("allreduce");
  } else if (strcmp(what, "scan") == 0) {
    sent_count = (int)(bytes / 8);
    measure(running_sums, rank_count, 1);
    print_series("scan");
  } else if (strcmp(what, "overlap") == 0) {
    overlap(1);
  } else if (strcmp(what, "overlap_vector") == 0) {
    overlap(step);
  } else if (strcmp(what, "memory") == 0) {
    print_series("memory"); /* was taken at the beginning */
  } else if (strcmp(what, "get") == 0) {
    passive_get();
  } else {
    if (my_rank == 0)
      fprintf(stderr,
              "mpi_measure: '%s' is not one of latency, sweep, idle, fences, vector, rate, pairs, collectives, costs, "
              "allreduce, scan, overlap, overlap_vector, get, memory\n",
              what);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (groups) MPI_Comm_free(&comm);
  if (my_rank == 0) printf("done\n");
  fflush(stdout);
  free(buffer_in);
  free(buffer_out);
  free(series.values);
  MPI_Finalize();
  return 0;
}
