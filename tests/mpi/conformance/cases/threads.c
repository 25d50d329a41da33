/* MPI_THREAD_MULTIPLE: several threads of each rank in MPI at the same time, on one communicator and on several. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

enum { threads = 4 };
/* Threads of an MPI that spins hand over in milliseconds where they share cores. */
static int rounds(void) { return rank_count > 4 ? 20 : rank_count > 2 || size_total < 10 ? 40 : 200; }

static void in_threads(void* (*run)(void*)) {
  pthread_t started[threads];
  int numbers[threads];
  for (int i = 0; i < threads; ++i) {
    numbers[i] = i;
    pthread_create(&started[i], NULL, run, &numbers[i]);
  }
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
}

/* Thread i of one rank talks to thread i of the other, with tag i. Some messages go in pieces. */
static void* own_tag(void* argument) {
  enum { longest = 3000000 };
  const int tag = *(int*)argument, peer = pair_peer();
  char* const in = allocate(longest);
  char* const out = allocate(longest);
  for (int i = 0; i < rounds(); ++i) {
    const int bytes = (int)(mix((uint64_t)(tag * 1000 + i)) % (i % 20 == 0 ? longest : i % 10 == 0 ? 100000 : 500));
    MPI_Request request;
    MPI_Status status;
    fill(out, (size_t)bytes, seed_of(my_rank, tag * 1000 + i));
    if (i % 3 == 0) {
      MPI_Sendrecv(out, bytes, MPI_BYTE, peer, tag, in, longest, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                   &status);
    } else if (i % 3 == 1) {
      MPI_Irecv(in, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request);
      MPI_Send(out, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
      MPI_Wait(&request, &status);
    } else {
      MPI_Isend(out, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request);
      MPI_Recv(in, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK_STATUS(&status, peer, tag, bytes);
    VERIFY(in, (size_t)bytes, seed_of(peer, tag * 1000 + i));
  }
  free(out);
  free(in);
  return NULL;
}
static void each_with_its_tag(void) {
  if (pair_peer() != MPI_PROC_NULL) in_threads(own_tag);
}

/* Threads of one rank receive whatever comes; each message is received once. */
static _Atomic int taken[8][threads * 1000];
static void* take_anything(void* argument) {
  const int me = *(int*)argument, peer = pair_peer(), count = rounds();
  for (int i = 0; i < count; ++i) {
    int number = -1;
    if (my_rank & 1) {
      MPI_Status status;
      if (me % 2) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&number, 1, MPI_INT, &message, &status);
      } else {
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      }
      CHECK_STATUS(&status, peer, number / 1000, 4);
      atomic_fetch_add(&taken[0][number], 1);
    } else {
      number = me * 1000 + i;
      MPI_Send(&number, 1, MPI_INT, peer, me, MPI_COMM_WORLD);
    }
  }
  return NULL;
}
static void each_message_is_received_once(void) {
  if (pair_peer() == MPI_PROC_NULL) return;
  memset(taken, 0, sizeof taken);
  in_threads(take_anything);
  if ((my_rank & 1) == 0) return;
  int wrong = 0;
  for (int i = 0; i < threads * 1000; ++i) wrong += taken[0][i] != (i % 1000 < rounds());
  CHECK_EQUAL(wrong, 0);
}

/* Each thread has a communicator for itself, with wildcards and collective operations. */
static MPI_Comm own[threads];
static void* own_communicator(void* argument) {
  const int me = *(int*)argument;
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  for (int i = 0; i < rounds() / 4; ++i) {
    int in = -1, sum = -1, out = my_rank * 100 + me;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own[me], &request);
    MPI_Send(&out, 1, MPI_INT, next, i, own[me]);
    MPI_Wait(&request, &status);
    CHECK_STATUS(&status, previous, i, 4);
    CHECK_EQUAL(in, previous * 100 + me);
    if (i % 4 == 0) {
      MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, own[me]);
      CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2 * 100 + rank_count * me);
    }
    if (i % 4 == 1) {
      MPI_Request pending[3];
      int from_first = my_rank == 0 ? i : -1;
      MPI_Ibarrier(own[me], &pending[0]);
      MPI_Iallreduce(&out, &sum, 1, MPI_INT, MPI_SUM, own[me], &pending[1]);
      MPI_Ibcast(&from_first, 1, MPI_INT, 0, own[me], &pending[2]);
      for (int left = 3; left > 0; --left) {
        int which = -1;
        MPI_Waitany(3, pending, &which, MPI_STATUS_IGNORE);
        CHECK(which >= 0 && which < 3);
      }
      CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2 * 100 + rank_count * me);
      CHECK_EQUAL(from_first, i);
    }
    if (i % 16 == 3) {
      MPI_Comm passing;
      MPI_Comm_dup(own[me], &passing);
      MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, previous, 1, passing, MPI_STATUS_IGNORE);
      CHECK_EQUAL(in, previous * 100 + me);
      MPI_Comm_free(&passing);
    }
  }
  return NULL;
}
static void each_with_its_communicator(void) {
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
  in_threads(own_communicator);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&own[i]);
}

/* One thread waits for what another one of the same rank sends. */
static void* between_threads(void* argument) {
  const int me = *(int*)argument;
  for (int i = 0; i < rounds(); ++i) {
    int number = -1;
    if (me % 2) {
      MPI_Recv(&number, 1, MPI_INT, my_rank, me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQUAL(number, i);
    } else {
      (i % 2 ? MPI_Ssend : MPI_Send)(&i, 1, MPI_INT, my_rank, me + 1, MPI_COMM_WORLD);
    }
  }
  return NULL;
}
static void threads_of_one_rank_talk(void) { in_threads(between_threads); }

/* One thread is inside a blocking call all the time; the others go on. */
static void* wait_or_work(void* argument) {
  const int me = *(int*)argument, peer = pair_peer();
  int number = -1;
  if (me == 0) {
    MPI_Status status;
    MPI_Recv(&number, 1, MPI_INT, peer, 777, MPI_COMM_WORLD, &status);
    CHECK_EQUAL(number, 4242);
    return NULL;
  }
  for (int i = 0; i < rounds(); ++i) {
    MPI_Sendrecv(&i, 1, MPI_INT, peer, me, &number, 1, MPI_INT, peer, me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(number, i);
  }
  if (me == 1) {
    number = 4242;
    MPI_Send(&number, 1, MPI_INT, peer, 777, MPI_COMM_WORLD);
  }
  return NULL;
}
static void one_waits_while_others_work(void) {
  if (pair_peer() != MPI_PROC_NULL) in_threads(wait_or_work);
}

/* Requests made by one thread are waited for by another; a generalized request is completed by another. */
static MPI_Request handed[threads];
static int handed_in[threads];
static int no_query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int no_free(void* state) { return state != NULL; }
static int no_cancel(void* state, int complete) { return state != NULL || complete < 0; }
static void* wait_for_handed(void* argument) {
  const int me = *(int*)argument;
  MPI_Wait(&handed[me], MPI_STATUS_IGNORE);
  return NULL;
}
static void requests_of_other_threads(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  for (int round = 0; round < 10; ++round) {
    pthread_t started[threads];
    int numbers[threads];
    MPI_Request general;
    for (int i = 0; i < threads - 1; ++i) MPI_Irecv(&handed_in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &handed[i]);
    MPI_Grequest_start(no_query, no_free, no_cancel, NULL, &general);
    handed[threads - 1] = general;
    for (int i = 0; i < threads; ++i) {
      numbers[i] = i;
      pthread_create(&started[i], NULL, wait_for_handed, &numbers[i]);
    }
    for (int i = threads - 2; i >= 0; --i) {
      const int out = my_rank * 100 + i;
      MPI_Send(&out, 1, MPI_INT, peer, i, MPI_COMM_WORLD);
    }
    MPI_Grequest_complete(general);
    for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
    for (int i = 0; i < threads - 1; ++i) CHECK_EQUAL(handed_in[i], peer * 100 + i);
    for (int i = 0; i < threads; ++i) CHECK(handed[i] == MPI_REQUEST_NULL);
  }
}

/* Threads come and go, and each uses MPI. */
static void* short_life(void* argument) {
  const int me = *(int*)argument;
  int in = -1;
  MPI_Sendrecv(&me, 1, MPI_INT, pair_peer(), me, &in, 1, MPI_INT, pair_peer(), me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in, me);
  return NULL;
}
static void threads_that_come_and_go(void) {
  if (pair_peer() == MPI_PROC_NULL) return;
  for (int round = 0; round < 25; ++round) in_threads(short_life);
}

/* The function of an operation reads its type and frees a copy of it: neither communicates. */
static void add_and_free_a_type(void* in, void* sum, int* count, MPI_Datatype* type) {
  MPI_Datatype copy;
  MPI_Type_dup(*type, &copy);
  MPI_Type_free(&copy);
  for (int i = 0; i < *count; ++i) ((int*)sum)[i] += ((int*)in)[i];
}
static void operations_that_free_types(void) {
  enum { most = 3000 };
  int from[most], sum[most];
  MPI_Op add;
  MPI_Op_create(add_and_free_a_type, 1, &add);
  for (int count = 1; count <= most; count *= most) {
    for (int i = 0; i < count; ++i) from[i] = my_rank + i, sum[i] = -1;
    MPI_Allreduce(from, sum, count, MPI_INT, add, MPI_COMM_WORLD);
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += sum[i] != rank_count * (rank_count - 1) / 2 + i * rank_count;
    CHECK_EQUAL(wrong, 0);
  }
  MPI_Op_free(&add);
}

static void levels(void) {
  int level = -1, main_thread = 0;
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&main_thread);
  CHECK_EQUAL(level, MPI_THREAD_MULTIPLE);
  CHECK_EQUAL(main_thread, 1);
}

const struct conformance_case thread_cases[] = {
    {"operations_that_free_types", 1, operations_that_free_types},
    {"levels", 1, levels},
    {"each_with_its_tag", 2, each_with_its_tag},
    {"each_message_is_received_once", 2, each_message_is_received_once},
    {"each_with_its_communicator", 1, each_with_its_communicator},
    {"threads_of_one_rank_talk", 1, threads_of_one_rank_talk},
    {"one_waits_while_others_work", 2, one_waits_while_others_work},
    {"requests_of_other_threads", 2, requests_of_other_threads},
    {"threads_that_come_and_go", 2, threads_that_come_and_go},
    {NULL, 0, NULL},
};
