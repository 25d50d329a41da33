/* Waiting and testing: all forms, on arrays that mix null, finished and unfinished requests of several kinds; what the
   statuses say; cancelling and freeing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

static void null_requests_complete_at_once(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Request three[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status = marked_status();
  MPI_Status statuses[3] = {marked_status(), marked_status(), marked_status()};
  int flag = 0, index = 5, count = 5, indices[3];
  MPI_Wait(&request, &status);
  CHECK_EMPTY(&status);
  status = marked_status();
  MPI_Test(&request, &flag, &status);
  CHECK_EQUAL(flag, 1);
  CHECK_EMPTY(&status);
  status = marked_status();
  MPI_Waitany(3, three, &index, &status);
  CHECK_EQUAL(index, MPI_UNDEFINED);
  CHECK_EMPTY(&status);
  flag = 0;
  index = 5;
  status = marked_status();
  MPI_Testany(3, three, &index, &flag, &status);
  CHECK_EQUAL(flag, 1);
  CHECK_EQUAL(index, MPI_UNDEFINED);
  CHECK_EMPTY(&status);
  MPI_Waitall(3, three, statuses);
  for (int i = 0; i < 3; ++i) CHECK_EMPTY(&statuses[i]);
  for (int i = 0; i < 3; ++i) statuses[i] = marked_status();
  flag = 0;
  MPI_Testall(3, three, &flag, statuses);
  CHECK_EQUAL(flag, 1);
  for (int i = 0; i < 3; ++i) CHECK_EMPTY(&statuses[i]);
  MPI_Waitsome(3, three, &count, indices, statuses);
  CHECK_EQUAL(count, MPI_UNDEFINED);
  count = 5;
  MPI_Testsome(3, three, &count, indices, statuses);
  CHECK_EQUAL(count, MPI_UNDEFINED);
  /* Arrays without any. */
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  flag = 0;
  MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(flag, 1);
  MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE);
  CHECK_EQUAL(index, MPI_UNDEFINED);
  MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(count, MPI_UNDEFINED);
}

static void waitall_with_null_between(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { total = 9 };
  int in[total], out[total];
  MPI_Request requests[total];
  MPI_Status statuses[total];
  for (int i = 0; i < total; ++i) {
    requests[i] = MPI_REQUEST_NULL;
    statuses[i] = marked_status();
    out[i] = my_rank * 100 + i;
    if (i % 3 == 0) MPI_Irecv(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
    if (i % 3 == 1) MPI_Isend(&out[i - 1], 1, MPI_INT, peer, i - 1, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(total, requests, statuses);
  for (int i = 0; i < total; ++i) {
    CHECK(requests[i] == MPI_REQUEST_NULL);
    if (i % 3 == 0) {
      CHECK_STATUS(&statuses[i], peer, i, 4);
      CHECK_EQUAL(in[i], peer * 100 + i);
    }
    if (i % 3 == 2) CHECK_EMPTY(&statuses[i]);
  }
}

/* The peer sends one message at a time, in an order of its own, and waits until it was taken. */
static void waitany_takes_what_comes(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int order[] = {3, 0, 4, 1, 2};
  static const int lengths[] = {8, 70000};
  char* buffers[5];
  for (int i = 0; i < 5; ++i) buffers[i] = allocate(70000);
  for (int kind = 0; kind < 2; ++kind) {
    const int bytes = lengths[kind];
    if (my_rank & 1) {
      MPI_Request requests[6];
      requests[2] = MPI_REQUEST_NULL; /* a hole among them */
      for (int i = 0; i < 5; ++i)
        MPI_Irecv(buffers[i], bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i < 2 ? i : i + 1]);
      for (int i = 0; i < 5; ++i) {
        int index = -1;
        MPI_Status status;
        signal_to(peer);
        MPI_Waitany(6, requests, &index, &status);
        const int place = order[i] < 2 ? order[i] : order[i] + 1;
        CHECK_EQUAL(index, place);
        CHECK_STATUS(&status, peer, order[i], bytes);
        VERIFY(buffers[order[i]], (size_t)bytes, seed_of(peer, i));
        CHECK(requests[place] == MPI_REQUEST_NULL);
      }
      int index = 0;
      MPI_Waitany(6, requests, &index, MPI_STATUS_IGNORE);
      CHECK_EQUAL(index, MPI_UNDEFINED);
    } else {
      for (int i = 0; i < 5; ++i) {
        wait_for_signal_of(peer);
        fill(buffers[0], (size_t)bytes, seed_of(my_rank, i));
        MPI_Send(buffers[0], bytes, MPI_BYTE, peer, order[i], MPI_COMM_WORLD);
      }
    }
  }
  for (int i = 0; i < 5; ++i) free(buffers[i]);
}

static void waitsome_until_all_are_done(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { total = 40 };
  char* const in = allocate((size_t)total * 20000);
  char* const out = allocate((size_t)total * 20000);
  for (int testing = 0; testing < 2; ++testing) {
    MPI_Request requests[2 * total];
    MPI_Status statuses[2 * total];
    int indices[2 * total], seen[2 * total] = {0}, left = 2 * total, bad = 0;
    for (int i = 0; i < total; ++i) {
      const int bytes = i % 4 == 0 ? 20000 : i * 10;
      fill(out + (size_t)i * 20000, (size_t)bytes, seed_of(my_rank, i));
      MPI_Irecv(in + (size_t)i * 20000, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
      MPI_Isend(out + (size_t)i * 20000, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[2 * total - 1 - i]);
    }
    while (left > 0) {
      int count = 0;
      (testing ? MPI_Testsome : MPI_Waitsome)(2 * total, requests, &count, indices, statuses);
      bad += count == MPI_UNDEFINED || (!testing && count < 1);
      for (int k = 0; k < count; ++k) {
        ++seen[indices[k]];
        bad += requests[indices[k]] != MPI_REQUEST_NULL;
        if (indices[k] >= total) continue;
        CHECK_STATUS(&statuses[k], peer, indices[k], indices[k] % 4 == 0 ? 20000 : indices[k] * 10);
      }
      left -= count;
    }
    CHECK_EQUAL(bad, 0);
    for (int i = 0; i < 2 * total; ++i) CHECK_EQUAL(seen[i], 1);
    for (int i = 0; i < total; ++i)
      VERIFY(in + (size_t)i * 20000, (size_t)(i % 4 == 0 ? 20000 : i * 10), seed_of(peer, i));
  }
  free(out);
  free(in);
}

/* A message that cannot have been sent yet: nothing is done, and nothing is touched. */
static void tests_that_find_nothing(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  int in[2] = {-1, -1}, out = 33;
  if (my_rank & 1) {
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request before[3];
    MPI_Status statuses[3];
    int flag = 9, index = 9, count = 9, indices[3];
    MPI_Irecv(&in[0], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[2]);
    memcpy(before, requests, sizeof requests);
    MPI_Test(&requests[0], &flag, &statuses[0]);
    CHECK_EQUAL(flag, 0);
    MPI_Testany(3, requests, &index, &flag, &statuses[0]);
    CHECK_EQUAL(flag, 0);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    MPI_Testsome(3, requests, &count, indices, statuses);
    CHECK_EQUAL(count, 0);
    MPI_Testall(3, requests, &flag, statuses);
    CHECK_EQUAL(flag, 0);
    MPI_Request_get_status(requests[2], &flag, &statuses[0]);
    CHECK_EQUAL(flag, 0);
    CHECK(requests[0] == before[0] && requests[2] == before[2]);
    /* One of two: Testall neither reports nor frees it. */
    signal_to(peer);
    wait_for_signal_of(peer);
    for (flag = 0; !flag;) MPI_Request_get_status(requests[0], &flag, &statuses[0]);
    MPI_Testall(3, requests, &flag, statuses);
    CHECK_EQUAL(flag, 0);
    CHECK(requests[0] == before[0] && requests[2] == before[2]);
    signal_to(peer);
    MPI_Waitall(3, requests, statuses);
    CHECK_EQUAL(in[0], 33);
    CHECK_EQUAL(in[1], 33);
  } else {
    wait_for_signal_of(peer);
    MPI_Send(&out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
    signal_to(peer);
    wait_for_signal_of(peer);
    MPI_Send(&out, 1, MPI_INT, peer, 2, MPI_COMM_WORLD);
  }
}

static void polling_with_each_kind_of_test(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const in = allocate(largest_size);
  char* const out = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    for (int kind = 0; kind < 4; ++kind) {
      MPI_Request requests[2];
      MPI_Status statuses[2];
      int done[2] = {0, 0};
      fill(out, (size_t)sizes[i], seed_of(my_rank, i));
      MPI_Irecv(in, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(out, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[1]);
      if (kind == 0) {
        while (!done[0] || !done[1]) {
          for (int k = 0; k < 2; ++k) {
            if (!done[k]) MPI_Test(&requests[k], &done[k], &statuses[k]);
          }
        }
      } else if (kind == 1) {
        while (!done[0]) MPI_Testall(2, requests, &done[0], statuses);
      } else if (kind == 2) {
        for (int left = 2; left > 0;) {
          int index = -1, flag = 0;
          MPI_Status status;
          MPI_Testany(2, requests, &index, &flag, &status);
          if (!flag) continue;
          statuses[index] = status;
          --left;
        }
      } else {
        for (int k = 0; k < 2; ++k) {
          while (!done[k]) MPI_Request_get_status(requests[k], &done[k], &statuses[k]);
          MPI_Wait(&requests[k], &statuses[k]);
        }
      }
      CHECK_STATUS(&statuses[0], peer, i, sizes[i]);
      VERIFY(in, (size_t)sizes[i], seed_of(peer, i));
      CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    }
  }
  free(out);
  free(in);
}

/* Asking for the status leaves the request; it can be asked again. */
static void status_without_end(void) {
  const int peer = pair_peer();
  MPI_Status status = marked_status();
  int flag = 0;
  MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status);
  CHECK_EQUAL(flag, 1);
  CHECK_EMPTY(&status);
  if (peer == MPI_PROC_NULL) return;
  int in = -1, out = my_rank;
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &request);
  MPI_Send(&out, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, &status);
  CHECK_EQUAL(in, peer);
  CHECK_STATUS(&status, peer, 4, 4);
  CHECK(request != MPI_REQUEST_NULL);
  MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  CHECK_EQUAL(flag, 1);
  status = marked_status();
  MPI_Wait(&request, &status);
  CHECK_STATUS(&status, peer, 4, 4);
  CHECK(request == MPI_REQUEST_NULL);
}

/* Calls that complete one request leave the error field alone. */
static void error_field_is_left_alone(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  int in = -1, out = 5, index = -1, flag = 0;
  MPI_Request request;
  MPI_Status status = marked_status();
  status.MPI_ERROR = 12345;
  MPI_Sendrecv(&out, 1, MPI_INT, peer, 1, &in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &status);
  CHECK_EQUAL(status.MPI_ERROR, 12345);
  MPI_Isend(&out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &request);
  status.MPI_ERROR = 12345;
  MPI_Recv(&in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &status);
  CHECK_EQUAL(status.MPI_ERROR, 12345);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int kind = 0; kind < 3; ++kind) {
    MPI_Irecv(&in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Send(&out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
    status.MPI_ERROR = 12345;
    if (kind == 0) MPI_Wait(&request, &status);
    if (kind == 1) MPI_Waitany(1, &request, &index, &status);
    if (kind == 2) {
      for (flag = 0; !flag;) MPI_Test(&request, &flag, &status);
    }
    CHECK_EQUAL(status.MPI_ERROR, 12345);
  }
}

static void statuses_may_be_ignored(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  int in[3], out[3] = {my_rank, my_rank + 1, my_rank + 2}, flag = 0, index = 0, count = 0, indices[2];
  for (int kind = 0; kind < 7; ++kind) {
    MPI_Request requests[2];
    MPI_Irecv(in, 3, MPI_INT, peer, kind, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 3, MPI_INT, peer, kind, MPI_COMM_WORLD, &requests[1]);
    if (kind == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (kind == 1) {
      for (flag = 0; !flag;) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    }
    if (kind == 2) {
      for (int left = 2; left > 0; left -= count) MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    }
    if (kind == 3) {
      for (int left = 2; left > 0; left -= count) MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    }
    if (kind == 4) {
      for (int left = 2; left > 0; --left) MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    }
    if (kind == 5) {
      for (int left = 2; left > 0; left -= flag) MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    }
    if (kind == 6) {
      for (int k = 0; k < 2; ++k) {
        for (flag = 0; !flag;) MPI_Test(&requests[k], &flag, MPI_STATUS_IGNORE);
      }
    }
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    for (int i = 0; i < 3; ++i) CHECK_EQUAL(in[i], peer + i);
  }
}

/* The second message first, though the first receive is still open. */
static void completion_in_any_order(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int lengths[] = {16, 9000, 300000};
  char* const first = allocate(300000);
  char* const second = allocate(300000);
  for (int kind = 0; kind < 3; ++kind) {
    const int bytes = lengths[kind];
    if (my_rank & 1) {
      MPI_Request requests[2];
      MPI_Irecv(first, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(second, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[1]);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      VERIFY(second, (size_t)bytes, 2);
      signal_to(peer);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      VERIFY(first, (size_t)bytes, 1);
    } else {
      fill(second, (size_t)bytes, 2);
      MPI_Send(second, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
      wait_for_signal_of(peer);
      fill(first, (size_t)bytes, 1);
      MPI_Send(first, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    }
  }
  free(second);
  free(first);
}

static void cancelled_receives(void) {
  const int peer = pair_peer();
  static const int sources[] = {0, 1}; /* the peer, any */
  for (int kind = 0; kind < 2; ++kind) {
    int in = -1, cancelled = 0;
    MPI_Request request;
    MPI_Status status = marked_status();
    MPI_Irecv(&in, 1, MPI_INT, sources[kind] ? MPI_ANY_SOURCE : my_rank, 4, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    CHECK(request != MPI_REQUEST_NULL);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK_EQUAL(cancelled, 1);
    CHECK(request == MPI_REQUEST_NULL);
  }
  if (peer == MPI_PROC_NULL) return;
  /* A message sent afterwards goes to a receive posted afterwards. */
  int ignored = -1, in = -1, out = my_rank + 50, cancelled = 9;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(&ignored, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  signal_to(peer);
  wait_for_signal_of(peer);
  MPI_Send(&out, 1, MPI_INT, peer, 6, MPI_COMM_WORLD);
  MPI_Recv(&in, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &statuses[0]);
  CHECK_EQUAL(in, peer + 50);
  CHECK_EQUAL(ignored, -1);
  MPI_Test_cancelled(&statuses[0], &cancelled);
  CHECK_EQUAL(cancelled, 0);
  /* One of two in the middle of others. */
  MPI_Request three[3];
  MPI_Status ends[3];
  int got[3] = {-1, -1, -1};
  for (int i = 0; i < 3; ++i) MPI_Irecv(&got[i], 1, MPI_INT, peer, 7, MPI_COMM_WORLD, &three[i]);
  MPI_Cancel(&three[1]);
  signal_to(peer);
  wait_for_signal_of(peer);
  for (int i = 0; i < 2; ++i) {
    out = 10 * i + my_rank;
    MPI_Send(&out, 1, MPI_INT, peer, 7, MPI_COMM_WORLD);
  }
  MPI_Waitall(3, three, ends);
  MPI_Test_cancelled(&ends[1], &cancelled);
  CHECK_EQUAL(cancelled, 1);
  CHECK_EQUAL(got[0], peer);
  CHECK_EQUAL(got[1], -1);
  CHECK_EQUAL(got[2], 10 + peer);
  MPI_Test_cancelled(&ends[0], &cancelled);
  CHECK_EQUAL(cancelled, 0);
}

/* Cancelling what has its message already changes nothing. */
static void cancelling_too_late(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  int in = -1, out = my_rank + 7, flag = 0, cancelled = 9;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&in, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &request);
  MPI_Send(&out, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
  while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK_EQUAL(cancelled, 0);
  CHECK_STATUS(&status, peer, 4, 4);
  CHECK_EQUAL(in, peer + 7);
}

/* Receives are cancelled while messages for them are under way: each message is either in the cancelled receive's place
   or goes to the next, none is lost and none comes twice. */
static void cancelling_in_the_race(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { rounds = 200 };
  int bad = 0;
  for (int round = 0; round < rounds; ++round) {
    if (my_rank & 1) {
      int first = -1, second = -1, cancelled = 0;
      MPI_Request request;
      MPI_Status status;
      MPI_Irecv(&first, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &request);
      signal_to(peer);
      for (int i = 0; i < round % 7; ++i) MPI_Request_get_status(request, &cancelled, MPI_STATUS_IGNORE);
      MPI_Cancel(&request);
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &cancelled);
      if (cancelled) MPI_Recv(&second, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      bad += cancelled ? first != -1 || second != round : first != round;
    } else {
      wait_for_signal_of(peer);
      MPI_Send(&round, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
    }
  }
  CHECK_EQUAL(bad, 0);
}

/* Persistent requests of a communicator between two groups, in lists with others: those that are not started count for
   nothing. */
static void inactive_requests(int is_of_library) {
  const int peer = pair_peer();
  MPI_Comm between = make_between_even_and_odd(is_of_library);
  if (peer != MPI_PROC_NULL) {
    int in = -1, out = my_rank, far = -1, at = -1, flag = 9, done = -1, indices[4];
    MPI_Status statuses[4];
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Recv_init(&far, 1, MPI_INT, my_rank / 2, 1, between, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, my_rank / 2, 1, between, &requests[1]);
    MPI_Irecv(&in, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[3]);
    MPI_Testany(4, requests, &at, &flag, &statuses[0]);
    CHECK_EQUAL(flag, 0);
    MPI_Testsome(4, requests, &done, indices, statuses);
    CHECK_EQUAL(done, 0);
    MPI_Testall(4, requests, &flag, statuses);
    CHECK_EQUAL(flag, 0);
    signal_to(peer);
    wait_for_signal_of(peer);
    MPI_Send(&out, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
    MPI_Waitany(4, requests, &at, &statuses[0]);
    CHECK_EQUAL(at, 3);
    CHECK_EQUAL(in, peer);
    for (int round = 0; round < 2; ++round) { /* all of them at once */
      far = in = -1;
      MPI_Irecv(&in, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[3]);
      MPI_Send(&out, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
      MPI_Start(&requests[0]);
      MPI_Start(&requests[1]);
      int seen[4] = {0, 0, 0, 0};
      for (int left = 3; left > 0;) {
        if (round == 0) {
          MPI_Waitsome(4, requests, &done, indices, statuses);
        } else {
          MPI_Waitany(4, requests, &indices[0], statuses);
          done = 1;
        }
        if (done < 1 || done > left) break;
        for (int i = 0; i < done; ++i) {
          ++seen[indices[i]];
          if (indices[i] == 0) CHECK_STATUS(&statuses[i], my_rank / 2, 1, 4);
          if (indices[i] == 3) CHECK_STATUS(&statuses[i], peer, 4, 4);
        }
        left -= done;
      }
      CHECK(seen[0] == 1 && seen[1] == 1 && seen[2] == 0 && seen[3] == 1);
      CHECK_EQUAL(in, peer);
      CHECK_EQUAL(far, peer);
      CHECK(requests[0] != MPI_REQUEST_NULL && requests[3] == MPI_REQUEST_NULL);
    }
    /* None is active any more, one of each kind is there. */
    MPI_Recv_init(&in, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitany(4, requests, &at, &statuses[0]);
    CHECK_EQUAL(at, MPI_UNDEFINED);
    MPI_Testany(4, requests, &at, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 1 && at == MPI_UNDEFINED);
    MPI_Waitsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(done, MPI_UNDEFINED);
    MPI_Testsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(done, MPI_UNDEFINED);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Request_free(&requests[3]);
  }
  MPI_Comm_free(&between);
}
static void inactive_requests_between_groups(void) { inactive_requests(0); }
static void inactive_requests_of_library(void) { inactive_requests(1); }

/* Synchronous sends that no receive has got can be taken back, and then end at once: the receiver gets what is sent
   afterwards. (Standard ones may be complete before: their data has left, where others do not reach their memory.) */
static void cancelled_sends(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { large = 300000 };
  char* const out = allocate(2 * large);
  char* const in = allocate(large);
  memset(out, 1, 2 * large);
  MPI_Datatype every_other;
  MPI_Type_vector(large, 1, 2, MPI_BYTE, &every_other);
  MPI_Type_commit(&every_other);
  enum { kinds = 5 };
  for (int kind = 0; kind < kinds; ++kind) {
    MPI_Request request;
    MPI_Status status = marked_status();
    int cancelled = 0;
    if (kind == 0) MPI_Issend(out, 8, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
    if (kind == 1) MPI_Issend(out, large, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
    if (kind == 2) MPI_Issend(out, 1, every_other, peer, 4, MPI_COMM_WORLD, &request);
    if (kind == 3) MPI_Ssend_init(out, 5000, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
    if (kind == 4) MPI_Issend(out, 0, MPI_BYTE, my_rank, 4, MPI_COMM_WORLD, &request); /* to itself */
    for (int start = 0; start < (kind == 3 ? 3 : 1); ++start) {
      if (kind == 3) MPI_Start(&request);
      MPI_Cancel(&request);
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &cancelled);
      CHECK_EQUAL(cancelled, 1);
    }
    if (kind == 3) MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    if (kind == 1) { /* and one that is given up */
      MPI_Issend(out, large, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }
  signal_to(peer);
  wait_for_signal_of(peer);
  int found = 9;
  MPI_Iprobe(peer, 4, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  CHECK_EQUAL(found, 0);
  signal_to(peer);
  wait_for_signal_of(peer);
  MPI_Request request;
  MPI_Irecv(in, large, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
  fill(out, large, (uint64_t)my_rank);
  MPI_Send(out, large, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  VERIFY(in, large, (uint64_t)peer);
  MPI_Type_free(&every_other);
  free(in);
  free(out);
}

/* A send that is cancelled ends as soon as somebody receives it, if not before: then it says that it was not cancelled,
   and the message is whole. Its partner may be on another host. */
static void cancelled_sends_end(void) {
  const int half = rank_count / 2;
  const int peer = my_rank < half ? my_rank + half : my_rank < 2 * half ? my_rank - half : MPI_PROC_NULL;
  if (peer == MPI_PROC_NULL) return;
  enum { largest = 2 << 20 };
  const int lengths[] = {0, 8, 20000, 300000, largest};
  char* const data = allocate(largest);
  for (int i = 0; i < 5; ++i) {
    for (int kind = 0; kind < 3; ++kind) {
      const int bytes = lengths[i];
      const uint64_t seed = (uint64_t)(10 * i + kind);
      MPI_Request request;
      MPI_Status status;
      int cancelled = 9;
      if (my_rank < half) {
        fill(data, (size_t)bytes, seed);
        if (kind == 0) MPI_Isend(data, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &request);
        if (kind == 1) MPI_Issend(data, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &request);
        if (kind == 2) {
          MPI_Send_init(data, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &request);
          MPI_Start(&request);
        }
        CHECK_EQUAL(MPI_Cancel(&request), MPI_SUCCESS);
        CHECK_EQUAL(MPI_Wait(&request, &status), MPI_SUCCESS);
        MPI_Test_cancelled(&status, &cancelled);
        if (kind == 2) MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL);
        memset(data, 0x55, (size_t)bytes); /* it is free again */
        if (!cancelled) continue;
        fill(data, (size_t)bytes, seed);
        MPI_Send(data, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
      } else {
        memset(data, 0x55, (size_t)bytes);
        MPI_Recv(data, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, peer, 5, bytes);
        VERIFY(data, (size_t)bytes, seed);
      }
    }
  }
  free(data);
}

/* Sends are cancelled while they are received: either side says the same. */
static void cancelling_sends_in_the_race(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { rounds = 200, large = 20000 };
  int bad = 0;
  char* const data = allocate(large);
  for (int round = 0; round < rounds; ++round) {
    const int bytes = round % 3 ? large : 8;
    if (my_rank & 1) {
      int flag = 0, cancelled = 9;
      MPI_Request request;
      MPI_Status status;
      memset(data, round, large);
      MPI_Issend(data, bytes, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
      for (int i = 0; i < round % 7; ++i) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
      MPI_Cancel(&request);
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &cancelled);
      memset(data, round + 1, large); /* whoever took the message has it by now */
      MPI_Send(&cancelled, 1, MPI_INT, peer, 5, MPI_COMM_WORLD);
      if (cancelled) MPI_Send(data, bytes, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
    } else {
      int cancelled = 9;
      MPI_Request request;
      MPI_Irecv(data, bytes, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
      MPI_Recv(&cancelled, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int i = 0; i < bytes; ++i) bad += data[i] != (char)(round + cancelled);
    }
  }
  CHECK_EQUAL(bad, 0);
  free(data);
}

/* A send whose request was given up is delivered all the same. */
static void freed_sends_arrive(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int lengths[] = {0, 8, 5000, 20000, 200000};
  char* out[5];
  char* const in = allocate(200000);
  for (int i = 0; i < 5; ++i) {
    MPI_Request request;
    out[i] = allocate((size_t)lengths[i]);
    fill(out[i], (size_t)lengths[i], seed_of(my_rank, i));
    (i % 2 ? MPI_Issend : MPI_Isend)(out[i], lengths[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
  }
  for (int i = 4; i >= 0; --i) {
    MPI_Recv(in, lengths[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    VERIFY(in, (size_t)lengths[i], seed_of(peer, i));
  }
  signal_to(peer);
  wait_for_signal_of(peer); /* the peer has all of ours */
  for (int i = 0; i < 5; ++i) free(out[i]);
  free(in);
}

/* Generalized requests: their functions write down what they were asked. */
struct note {
  int queried, freed, cancelled_when_complete, cancels;
};
static int query(void* state, MPI_Status* status) {
  ++((struct note*)state)->queried;
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 77;
  status->MPI_TAG = 78;
  return MPI_SUCCESS;
}
static int let_go(void* state) {
  ++((struct note*)state)->freed;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  ++((struct note*)state)->cancels;
  ((struct note*)state)->cancelled_when_complete = complete;
  return MPI_SUCCESS;
}

static void generalized_among_others(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  for (int kind = 0; kind < 5; ++kind) {
    struct note note = {0};
    int in = -1, out = my_rank, flag = 0, index = -1, count = 0, indices[3];
    MPI_Request requests[3];
    MPI_Status statuses[3], own = marked_status();
    MPI_Grequest_start(query, let_go, cancel, &note, &requests[1]);
    MPI_Irecv(&in, 1, MPI_INT, peer, kind, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, peer, kind, MPI_COMM_WORLD, &requests[2]);
    MPI_Testall(3, requests, &flag, statuses);
    CHECK_EQUAL(flag, 0);
    if (kind == 4) {
      MPI_Cancel(&requests[1]);
      CHECK_EQUAL(note.cancels, 1);
      CHECK_EQUAL(note.cancelled_when_complete, 0);
    }
    MPI_Grequest_complete(requests[1]);
    if (kind == 0 || kind == 4) {
      MPI_Waitall(3, requests, statuses);
      own = statuses[1];
    } else if (kind == 1) {
      for (flag = 0; !flag;) MPI_Testall(3, requests, &flag, statuses);
      own = statuses[1];
    } else if (kind == 2) {
      for (int left = 3; left > 0; --left) {
        MPI_Status status;
        MPI_Waitany(3, requests, &index, &status);
        if (index == 1) own = status;
      }
    } else {
      for (int left = 3; left > 0; left -= count) {
        MPI_Waitsome(3, requests, &count, indices, statuses);
        for (int k = 0; k < count; ++k) {
          if (indices[k] == 1) own = statuses[k];
        }
      }
    }
    CHECK_STATUS(&own, 77, 78, 12);
    CHECK(note.queried >= 1);
    CHECK_EQUAL(note.freed, 1);
    CHECK_EQUAL(in, peer);
    for (int i = 0; i < 3; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

/* Requests of collective operations between those of messages. */
static void collective_requests_among_others(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  char* const in = allocate(100000);
  char* const out = allocate(100000);
  for (int kind = 0; kind < 4; ++kind) {
    MPI_Request requests[5];
    MPI_Status statuses[5];
    long mine = my_rank + 1, sum = -1;
    int flag = 0, index = -1, count = 0, indices[5];
    fill(out, 100000, seed_of(my_rank, kind));
    MPI_Irecv(in, 100000, MPI_BYTE, previous, kind, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    MPI_Isend(out, 100000, MPI_BYTE, next, kind, MPI_COMM_WORLD, &requests[3]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[4]);
    if (kind == 0) MPI_Waitall(5, requests, statuses);
    if (kind == 1) {
      for (flag = 0; !flag;) MPI_Testall(5, requests, &flag, statuses);
    }
    if (kind == 2) {
      for (int left = 4; left > 0; --left) MPI_Waitany(5, requests, &index, MPI_STATUS_IGNORE);
    }
    if (kind == 3) {
      for (int left = 4; left > 0; left -= count) MPI_Waitsome(5, requests, &count, indices, statuses);
    }
    CHECK_EQUAL(sum, (long)rank_count * (rank_count + 1) / 2);
    VERIFY(in, 100000, seed_of(previous, kind));
    for (int i = 0; i < 5; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  free(out);
  free(in);
}

/* Requests live in an array that moves between the calls: a handle is a value. */
static void handles_are_values(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { total = 64 };
  int in[total], out[total];
  MPI_Request* requests = NULL;
  for (int i = 0; i < total; ++i) {
    MPI_Request* const grown = allocate(2 * ((size_t)i + 1) * sizeof *grown);
    if (requests != NULL) memcpy(grown, requests, 2 * (size_t)i * sizeof *grown);
    free(requests);
    requests = grown;
    out[i] = my_rank * total + i;
    MPI_Irecv(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Request copy = requests[0];
  MPI_Wait(&copy, MPI_STATUS_IGNORE);
  requests[0] = MPI_REQUEST_NULL;
  MPI_Waitall(2 * total, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < total; ++i) CHECK_EQUAL(in[i], peer * total + i);
  free(requests);
}

/* More requests than one would reserve room for, given back and made again. */
static void very_many_requests(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { total = 5000, rounds = 3 };
  int* const in = allocate(total * sizeof *in);
  MPI_Request* const requests = allocate(total * sizeof *requests);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < total; ++i) MPI_Irecv(&in[i], 1, MPI_INT, peer, i % 10, MPI_COMM_WORLD, &requests[i]);
    signal_to(peer);
    wait_for_signal_of(peer);
    for (int i = 0; i < total; ++i) {
      const int out = i + round;
      MPI_Send(&out, 1, MPI_INT, peer, i % 10, MPI_COMM_WORLD);
    }
    MPI_Waitall(total, requests, MPI_STATUSES_IGNORE);
    int wrong = 0;
    for (int i = 0; i < total; ++i) wrong += in[i] != i + round;
    CHECK_EQUAL(wrong, 0);
  }
  free(requests);
  free(in);
}

/* Writing to a file, which is the library's business, and messages end in one call. */
static void files_and_messages_in_one_list(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { bytes = 1 << 20 };
  char name[64];
  snprintf(name, sizeof name, "conformance_file_%d_%d", (int)getpid(), my_rank);
  char* const data = allocate(bytes);
  fill(data, bytes, (uint64_t)my_rank);
  for (int tested = 0; tested < 2; ++tested) {
    MPI_File file;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[4];
    int in = -1, count = -1, done = 0;
    CHECK_EQUAL(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                              MPI_INFO_NULL, &file),
                MPI_SUCCESS);
    MPI_File_iwrite(file, data, bytes, MPI_CHAR, &requests[1]);
    MPI_Irecv(&in, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[2]);
    MPI_Send(&my_rank, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
    if (tested) {
      while (!done) MPI_Testall(4, requests, &done, statuses);
    } else {
      MPI_Waitall(4, requests, statuses);
    }
    CHECK_EQUAL(in, peer);
    CHECK_STATUS(&statuses[2], peer, 4, (int)sizeof in);
    MPI_Get_count(&statuses[1], MPI_CHAR, &count);
    CHECK_EQUAL(count, bytes);
    for (int i = 0; i < 4; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
    MPI_File_close(&file);
  }
  free(data);
}

/* A file that is written stands in a list with messages that are not there yet, and is asked for again and again. The
   second writing has ended, so the first has: they follow each other. */
static void written_files_wait_for_messages(void) {
  const int peer = pair_peer();
  MPI_Comm between = make_between_even_and_odd(1);
  if (peer != MPI_PROC_NULL) {
    enum { bytes = 5000 };
    char name[64];
    char* const data = allocate(bytes);
    snprintf(name, sizeof name, "conformance_written_%d_%d", (int)getpid(), my_rank);
    fill(data, bytes, (uint64_t)my_rank);
    for (int tested = 0; tested < 2; ++tested) {
      MPI_File file;
      MPI_Request requests[3], second;
      MPI_Status statuses[3];
      int in = -1, far = -1, count = -1, done = 0;
      CHECK_EQUAL(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                MPI_INFO_NULL, &file),
                  MPI_SUCCESS);
      MPI_File_iwrite(file, data, bytes, MPI_CHAR, &requests[0]);
      MPI_File_iwrite(file, data, bytes, MPI_CHAR, &second);
      MPI_Irecv(&in, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[1]);
      MPI_Irecv(&far, 1, MPI_INT, my_rank / 2, 5, between, &requests[2]);
      MPI_Wait(&second, MPI_STATUS_IGNORE);
      const MPI_Request before = requests[0];
      if (tested) {
        int ended = 0;
        for (int i = 0; i < 5; ++i) {
          MPI_Testall(3, requests, &done, statuses);
          ended += done;
        }
        CHECK_EQUAL(ended, 0);
        CHECK(requests[0] == before);
      }
      signal_to(peer);
      wait_for_signal_of(peer);
      /* The messages come one after the other, and late: the list is looked at in between. */
      if (tested) {
        MPI_Send(&my_rank, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
        for (int i = 0; i < 5; ++i) MPI_Testall(3, requests, &done, statuses);
        CHECK_EQUAL(done, 0);
        signal_to(peer);
        wait_for_signal_of(peer);
        MPI_Send(&my_rank, 1, MPI_INT, my_rank / 2, 5, between);
        while (!done) MPI_Testall(3, requests, &done, statuses);
      } else {
        if (my_rank % 2) usleep(20000); /* late on purpose: mostly, the peer is in its Waitall; any order is right */
        MPI_Send(&my_rank, 1, MPI_INT, my_rank / 2, 5, between);
        MPI_Send(&my_rank, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
        MPI_Waitall(3, requests, statuses);
      }
      CHECK_EQUAL(in, peer);
      CHECK_EQUAL(far, peer);
      CHECK_STATUS(&statuses[1], peer, 4, (int)sizeof in);
      CHECK_STATUS(&statuses[2], my_rank / 2, 5, (int)sizeof far);
      MPI_Get_count(&statuses[0], MPI_CHAR, &count);
      CHECK_EQUAL(count, bytes);
      for (int i = 0; i < 3; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
      MPI_File_close(&file);
    }
    free(data);
  }
  MPI_Comm_free(&between);
}

const struct conformance_case request_cases[] = {
    {"null_requests_complete_at_once", 1, null_requests_complete_at_once},
    {"waitall_with_null_between", 2, waitall_with_null_between},
    {"waitany_takes_what_comes", 2, waitany_takes_what_comes},
    {"waitsome_until_all_are_done", 2, waitsome_until_all_are_done},
    {"tests_that_find_nothing", 2, tests_that_find_nothing},
    {"polling_with_each_kind_of_test", 2, polling_with_each_kind_of_test},
    {"status_without_end", 1, status_without_end},
    {"error_field_is_left_alone", 2, error_field_is_left_alone},
    {"statuses_may_be_ignored", 2, statuses_may_be_ignored},
    {"completion_in_any_order", 2, completion_in_any_order},
    {"cancelled_receives", 1, cancelled_receives},
    {"cancelling_too_late", 2, cancelling_too_late},
    {"cancelling_in_the_race", 2, cancelling_in_the_race},
    {"inactive_requests_between_groups", 2, inactive_requests_between_groups},
    {"inactive_requests_of_library", 2, inactive_requests_of_library},
    {"cancelled_sends", 2, cancelled_sends},
    {"cancelled_sends_end", 2, cancelled_sends_end},
    {"cancelling_sends_in_the_race", 2, cancelling_sends_in_the_race},
    {"freed_sends_arrive", 2, freed_sends_arrive},
    {"generalized_among_others", 2, generalized_among_others},
    {"collective_requests_among_others", 1, collective_requests_among_others},
    {"handles_are_values", 2, handles_are_values},
    {"very_many_requests", 2, very_many_requests},
    {"files_and_messages_in_one_list", 2, files_and_messages_in_one_list},
    {"written_files_wait_for_messages", 2, written_files_wait_for_messages},
    {NULL, 0, NULL},
};
