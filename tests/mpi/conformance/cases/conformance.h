/* What the cases of the conformance program share. A case is one function that all ranks of MPI_COMM_WORLD call; it
   checks what it sees, leaves no message behind, and counts the same number of checks in every run, whatever the order
   in which things happen. main.c runs the cases and prints one line for each. Plain MPI: nothing here knows who carries
   the messages. */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Open MPI 4 has persistent collective operations as an extension. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allgatherv_init MPIX_Allgatherv_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Exscan_init MPIX_Exscan_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Gatherv_init MPIX_Gatherv_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#define MPI_Scan_init MPIX_Scan_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scatterv_init MPIX_Scatterv_init
#endif

struct conformance_case {
  const char* name;
  int ranks_at_least;
  void (*run)(void);
};
struct conformance_group {
  const char* name;
  const struct conformance_case* cases; /* the last one has no name */
};

extern int my_rank, rank_count; /* of MPI_COMM_WORLD */

/* Checks; from any thread. */
void check_that(int condition, const char* text, const char* file, int line);
void check_equal(long long found, long long expected, const char* text, const char* file, int line);
#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(found, expected) check_equal((long long)(found), (long long)(expected), #found, __FILE__, __LINE__)
/* The class of an error code, or MPI_SUCCESS. */
int error_class(int code);

/* Bytes that depend on `seed`: two messages with different seeds differ almost everywhere. */
void fill(void* buffer, size_t bytes, uint64_t seed);
/* One check: the buffer is as fill() made it. */
void verify(const void* buffer, size_t bytes, uint64_t seed, const char* file, int line);
#define VERIFY(buffer, bytes, seed) verify(buffer, bytes, seed, __FILE__, __LINE__)
/* One check: all bytes are `value`. */
void verify_all(const void* buffer, size_t bytes, unsigned char value, const char* file, int line);
#define VERIFY_ALL(buffer, bytes, value) verify_all(buffer, bytes, value, __FILE__, __LINE__)
uint64_t mix(uint64_t seed);

/* A generator of numbers; the same on all machines. */
struct random_numbers {
  uint64_t state;
};
uint64_t next_number(struct random_numbers* from);
uint64_t number_below(struct random_numbers* from, uint64_t limit);

/* Message sizes around every limit that libraries have, 0 to 4 MiB; fewer when --sizes few was given. */
extern const int* sizes;
extern int size_total;
enum { largest_size = 4 << 20 };

/* The other rank of this rank's pair: 0 and 1, 2 and 3, ...; MPI_PROC_NULL for an odd one out. */
int pair_peer(void);
/* An inter-communicator of the ranks of MPI_COMM_WORLD with even and those with odd numbers. `is_of_library`: made in a
   way that leaves its messages to the MPI library, whoever else stands between it and the program. */
MPI_Comm make_between_even_and_odd(int is_of_library);
/* A signal from one rank to another, on a communicator of its own. */
void signal_to(int rank);
void wait_for_signal_of(int rank);
/* malloc and friends that do not return without memory. */
void* allocate(size_t bytes);

/* Checks source and tag of a status, and its count of bytes. Three checks. */
void check_status(const MPI_Status* status, int source, int tag, int bytes, const char* file, int line);
#define CHECK_STATUS(status, source, tag, bytes) check_status(status, source, tag, bytes, __FILE__, __LINE__)
/* The "empty" status of the standard: any tag, any source, no error, nothing received, not cancelled. Five checks. */
void check_empty_status(MPI_Status* status, const char* file, int line);
#define CHECK_EMPTY(status) check_empty_status(status, __FILE__, __LINE__)
/* A status full of nonsense, to see what is written. */
MPI_Status marked_status(void);

/* Calls one of these for each rank pair: the functions of the standard that start a send. */
typedef int start_send(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
typedef int blocking_send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
/* Waits by polling, giving up the core between the calls. */
void wait_by_test(MPI_Request* request, MPI_Status* status);

extern const struct conformance_case point_to_point_cases[];
extern const struct conformance_case matching_cases[];
extern const struct conformance_case request_cases[];
extern const struct conformance_case persistent_cases[];
extern const struct conformance_case probe_cases[];
extern const struct conformance_case datatype_cases[];
extern const struct conformance_case communicator_cases[];
extern const struct conformance_case between_groups_cases[];
extern const struct conformance_case error_cases[];
extern const struct conformance_case buffer_cases[];
extern const struct conformance_case thread_cases[];
extern const struct conformance_case collective_cases[];
extern const struct conformance_case persistent_collective_cases[];
extern const struct conformance_case own_operation_cases[];
extern const struct conformance_case in_place_cases[];
extern const struct conformance_case neighborhood_cases[];
extern const struct conformance_case one_sided_cases[];
extern const struct conformance_case progress_cases[];
extern const struct conformance_case blocking_call_cases[];
extern const struct conformance_case refusal_cases[];
