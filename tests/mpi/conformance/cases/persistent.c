/* Persistent requests: made once, started many times; inactive ones among others in every form of waiting. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

typedef int make_send(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
static make_send* const makers[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};

static void every_size_in(int mode) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  /* The message before the last has arrived when the next one starts, but the library may not know it yet. */
  const int space_bytes = 4 * largest_size + 64 * MPI_BSEND_OVERHEAD;
  void* space = allocate((size_t)space_bytes);
  int bytes_back = 0;
  MPI_Buffer_attach(space, space_bytes);
  char* const out = allocate(largest_size);
  char* const in = allocate(largest_size);
  enum { rounds = 4 };
  {
    for (int i = 0; i < size_total; ++i) {
      const size_t bytes = (size_t)sizes[i];
      MPI_Request receive, send;
      MPI_Status status;
      MPI_Recv_init(in, sizes[i], MPI_BYTE, mode == 1 ? MPI_ANY_SOURCE : peer, i, MPI_COMM_WORLD, &receive);
      makers[mode](out, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &send);
      for (int round = 0; round < rounds; ++round) {
        memset(in, 0x55, bytes);
        MPI_Start(&receive);
        if (mode == 3) { /* ready: the peer's receive must be there */
          signal_to(peer);
          wait_for_signal_of(peer);
        }
        fill(out, bytes, seed_of(my_rank, i * rounds + round));
        MPI_Start(&send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, &status);
        CHECK_STATUS(&status, peer, i, sizes[i]);
        VERIFY(in, bytes, seed_of(peer, i * rounds + round));
        CHECK(receive != MPI_REQUEST_NULL && send != MPI_REQUEST_NULL);
      }
      MPI_Request_free(&receive);
      MPI_Request_free(&send);
      CHECK(receive == MPI_REQUEST_NULL && send == MPI_REQUEST_NULL);
    }
  }
  MPI_Buffer_detach(&space, &bytes_back);
  CHECK_EQUAL(bytes_back, space_bytes);
  free(space);
  free(in);
  free(out);
}
static void standard_mode(void) { every_size_in(0); }
static void synchronous_mode(void) { every_size_in(1); }
static void buffered_mode(void) { every_size_in(2); }
static void ready_mode(void) { every_size_in(3); }

/* What was never started, or is finished, counts as complete and has an empty status. */
static void inactive_requests_are_complete(void) {
  const int peer = pair_peer();
  int in = -1, out = my_rank, flag = 0, index = 3, count = 3, indices[3];
  MPI_Request three[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status = marked_status(), statuses[3] = {marked_status(), marked_status(), marked_status()};
  MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &three[0]);
  MPI_Send_init(&out, 1, MPI_INT, peer, 8, MPI_COMM_WORLD, &three[2]);
  for (int after = 0; after < 2; ++after) { /* before the first start, and after it */
    for (int which = 0; which < 3; which += 2) {
      status = marked_status();
      MPI_Wait(&three[which], &status);
      CHECK_EMPTY(&status);
      status = marked_status();
      flag = 0;
      MPI_Test(&three[which], &flag, &status);
      CHECK_EQUAL(flag, 1);
      CHECK_EMPTY(&status);
      status = marked_status();
      flag = 0;
      MPI_Request_get_status(three[which], &flag, &status);
      CHECK_EQUAL(flag, 1);
      CHECK_EMPTY(&status);
    }
    for (int i = 0; i < 3; ++i) statuses[i] = marked_status();
    MPI_Waitall(3, three, statuses);
    for (int i = 0; i < 3; ++i) CHECK_EMPTY(&statuses[i]);
    flag = 0;
    MPI_Testall(3, three, &flag, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(flag, 1);
    status = marked_status();
    MPI_Waitany(3, three, &index, &status);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    CHECK_EMPTY(&status);
    flag = 0;
    MPI_Testany(3, three, &index, &flag, MPI_STATUS_IGNORE);
    CHECK_EQUAL(flag, 1);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    MPI_Waitsome(3, three, &count, indices, statuses);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Testsome(3, three, &count, indices, statuses);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    if (after == 0 && peer != MPI_PROC_NULL) {
      MPI_Start(&three[0]);
      MPI_Start(&three[2]);
      MPI_Waitall(3, three, statuses);
      CHECK_STATUS(&statuses[0], peer, 8, 4);
      CHECK_EMPTY(&statuses[1]);
      CHECK_EQUAL(in, peer);
    }
  }
  MPI_Request_free(&three[0]);
  MPI_Request_free(&three[2]);
}

static void testany_of_inactive_requests_has_an_empty_status(void) {
  int in = -1, flag = 0, index = 3;
  MPI_Request two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &two[1]);
  MPI_Status status = marked_status();
  MPI_Testany(2, two, &index, &flag, &status);
  CHECK_EQUAL(flag, 1);
  CHECK_EQUAL(index, MPI_UNDEFINED);
  CHECK_EMPTY(&status);
  MPI_Request_free(&two[1]);
}

/* One started request among inactive and null ones is the one that is found. */
static void the_active_one_among_inactive(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { total = 6, rounds = 24 };
  int in[total], out = 0;
  MPI_Request requests[total], send;
  for (int i = 0; i < total; ++i) {
    requests[i] = MPI_REQUEST_NULL;
    if (i != 3) MPI_Recv_init(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
  }
  for (int round = 0; round < rounds; ++round) {
    const int which = round % total == 3 ? 0 : round % total;
    int index = -1, count = -1, flag = 0, indices[total];
    MPI_Status status, statuses[total];
    out = 1000 * my_rank + round;
    MPI_Start(&requests[which]);
    MPI_Isend(&out, 1, MPI_INT, peer, which, MPI_COMM_WORLD, &send);
    if (round % 4 == 0) {
      MPI_Waitany(total, requests, &index, &status);
    } else if (round % 4 == 1) {
      MPI_Waitsome(total, requests, &count, indices, statuses);
      CHECK_EQUAL(count, 1);
      index = indices[0];
      status = statuses[0];
    } else if (round % 4 == 2) {
      for (flag = 0; !flag;) MPI_Testany(total, requests, &index, &flag, &status);
    } else {
      for (count = 0; count == 0;) MPI_Testsome(total, requests, &count, indices, statuses);
      CHECK_EQUAL(count, 1);
      index = indices[0];
      status = statuses[0];
    }
    CHECK_EQUAL(index, which);
    CHECK_STATUS(&status, peer, which, 4);
    CHECK_EQUAL(in[which], 1000 * peer + round);
    CHECK(requests[which] != MPI_REQUEST_NULL);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < total; ++i) {
    if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
  }
}

static void started_all_at_once(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  enum { total = 12, rounds = 15 };
  static const int lengths[] = {0, 8, 1000, 9000, 70000, 3};
  char* in[total];
  char* out[total];
  MPI_Request requests[2 * total];
  MPI_Status statuses[2 * total];
  for (int i = 0; i < total; ++i) {
    const int bytes = lengths[i % 6];
    in[i] = allocate((size_t)bytes);
    out[i] = allocate((size_t)bytes);
    MPI_Recv_init(in[i], bytes, MPI_BYTE, previous, i, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Send_init(out[i], bytes, MPI_BYTE, next, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < total; ++i) fill(out[i], (size_t)lengths[i % 6], seed_of(my_rank, round * total + i));
    MPI_Startall(2 * total, requests);
    MPI_Waitall(2 * total, requests, statuses);
    for (int i = 0; i < total; ++i) {
      CHECK_STATUS(&statuses[2 * i], previous, i, lengths[i % 6]);
      VERIFY(in[i], (size_t)lengths[i % 6], seed_of(previous, round * total + i));
    }
  }
  for (int i = 0; i < total; ++i) {
    MPI_Request_free(&requests[2 * i]);
    MPI_Request_free(&requests[2 * i + 1]);
    free(in[i]);
    free(out[i]);
  }
}

static void cancelled_and_started_again(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  int in = -1, out = my_rank + 3, cancelled = 0;
  MPI_Request receive;
  MPI_Status status;
  MPI_Recv_init(&in, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &receive);
  for (int round = 0; round < 6; ++round) {
    in = -1;
    MPI_Start(&receive);
    if (round % 2 == 0) {
      MPI_Cancel(&receive);
      MPI_Wait(&receive, &status);
      MPI_Test_cancelled(&status, &cancelled);
      CHECK_EQUAL(cancelled, 1);
      CHECK_EQUAL(in, -1);
    } else {
      MPI_Send(&out, 1, MPI_INT, peer, 2, MPI_COMM_WORLD);
      MPI_Wait(&receive, &status);
      MPI_Test_cancelled(&status, &cancelled);
      CHECK_EQUAL(cancelled, 0);
      CHECK_EQUAL(in, peer + 3);
    }
    CHECK(receive != MPI_REQUEST_NULL);
    signal_to(peer); /* no message may come while a receive is being cancelled */
    wait_for_signal_of(peer);
  }
  MPI_Request_free(&receive);
}

/* A request that is freed while it is active ends by itself. */
static void freed_while_active(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int lengths[] = {8, 200000};
  char* const out = allocate(200000);
  char* const in = allocate(200000);
  for (int kind = 0; kind < 2; ++kind) {
    const int bytes = lengths[kind];
    MPI_Request send;
    fill(out, (size_t)bytes, seed_of(my_rank, kind));
    MPI_Send_init(out, bytes, MPI_BYTE, peer, kind, MPI_COMM_WORLD, &send);
    MPI_Start(&send);
    MPI_Request_free(&send);
    CHECK(send == MPI_REQUEST_NULL);
    MPI_Recv(in, bytes, MPI_BYTE, peer, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    VERIFY(in, (size_t)bytes, seed_of(peer, kind));
    signal_to(peer);
    wait_for_signal_of(peer);
  }
  free(in);
  free(out);
}

/* Requests to nobody and to oneself. */
static void proc_null_and_oneself(void) {
  int in = -1, out = my_rank, nothing = 5;
  MPI_Request requests[4];
  MPI_Status statuses[4];
  MPI_Recv_init(&in, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Recv_init(&nothing, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Send_init(&nothing, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[3]);
  for (int round = 0; round < 10; ++round) {
    out = my_rank * 10 + round;
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, statuses);
    CHECK_EQUAL(in, my_rank * 10 + round);
    CHECK_EQUAL(nothing, 5);
    CHECK_STATUS(&statuses[0], my_rank, 1, 4);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[i]);
}

static void status_of_receives_from_proc_null(void) {
  int nothing = 5;
  MPI_Request request;
  MPI_Recv_init(&nothing, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
  for (int round = 0; round < 3; ++round) {
    MPI_Status status = marked_status();
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK_EQUAL(nothing, 5);
  }
  MPI_Request_free(&request);
}

/* A started receive is matched by plain sends, and the other way round, in the order of posting. */
static void mixed_with_plain_calls(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  int in[3], out[3];
  MPI_Request receive, send, plain[3];
  MPI_Recv_init(&in[1], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &receive);
  MPI_Send_init(&out[1], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &send);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 3; ++i) out[i] = my_rank * 1000 + round * 3 + i;
    MPI_Irecv(&in[0], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &plain[0]);
    MPI_Start(&receive);
    MPI_Irecv(&in[2], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &plain[1]);
    MPI_Send(&out[0], 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
    MPI_Start(&send);
    MPI_Isend(&out[2], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &plain[2]);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Waitall(3, plain, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; ++i) CHECK_EQUAL(in[i], peer * 1000 + round * 3 + i);
  }
  MPI_Request_free(&receive);
  MPI_Request_free(&send);
}

/* The communicator is freed while requests of it are still to be started. */
static void communicators_that_were_freed(void) {
  MPI_Comm twin;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  const int peer = pair_peer();
  int value = my_rank % 2 == 0 ? 7 + my_rank : -1;
  MPI_Request request = MPI_REQUEST_NULL;
  if (peer != MPI_PROC_NULL) {
    if (my_rank % 2 == 0)
      MPI_Send_init(&value, 1, MPI_INT, peer, 0, twin, &request);
    else
      MPI_Recv_init(&value, 1, MPI_INT, peer, 0, twin, &request);
  }
  MPI_Comm_free(&twin);
  MPI_Comm another; /* perhaps of the same handle */
  MPI_Comm_dup(MPI_COMM_WORLD, &another);
  if (peer != MPI_PROC_NULL) {
    for (int round = 0; round < 3; ++round) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK_EQUAL(value, 7 + (my_rank & ~1));
      if (my_rank % 2 != 0) value = -1;
    }
    MPI_Request_free(&request);
  }
  MPI_Comm_free(&another);
}

const struct conformance_case persistent_cases[] = {
    {"communicators_that_were_freed", 2, communicators_that_were_freed},
    {"standard_mode", 2, standard_mode},
    {"synchronous_mode", 2, synchronous_mode},
    {"buffered_mode", 2, buffered_mode},
    {"ready_mode", 2, ready_mode},
    {"inactive_requests_are_complete", 1, inactive_requests_are_complete},
    {"testany_of_inactive_requests_has_an_empty_status", 1, testany_of_inactive_requests_has_an_empty_status},
    {"the_active_one_among_inactive", 2, the_active_one_among_inactive},
    {"started_all_at_once", 1, started_all_at_once},
    {"cancelled_and_started_again", 2, cancelled_and_started_again},
    {"freed_while_active", 2, freed_while_active},
    {"proc_null_and_oneself", 1, proc_null_and_oneself},
    {"status_of_receives_from_proc_null", 1, status_of_receives_from_proc_null},
    {"mixed_with_plain_calls", 2, mixed_with_plain_calls},
    {NULL, 0, NULL},
};
