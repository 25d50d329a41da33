/* Sends and receives between two ranks: every mode, every size, expected and unexpected, and what is special about
   oneself, nobody and nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int to, int what) {
  return ((uint64_t)from << 48) ^ ((uint64_t)to << 32) ^ (uint64_t)what;
}

static void every_size_blocking(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const buffer = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    for (int turn = 0; turn < 2; ++turn) {
      if ((my_rank & 1) == turn) {
        fill(buffer, (size_t)sizes[i], seed_of(my_rank, peer, sizes[i]));
        MPI_Send(buffer, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD);
      } else {
        MPI_Status status;
        memset(buffer, 0x55, (size_t)sizes[i]);
        MPI_Recv(buffer, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, peer, i, sizes[i]);
        VERIFY(buffer, (size_t)sizes[i], seed_of(peer, my_rank, sizes[i]));
      }
    }
  }
  free(buffer);
}

static start_send* const starts[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static blocking_send* const sends[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
enum { modes = 4 };

/* For two messages on their way, and for two that have arrived without the library's knowing it yet. */
enum { space_bytes = 4 * largest_size + 64 * MPI_BSEND_OVERHEAD };

static void* attach_space(void) {
  void* const space = allocate(space_bytes);
  MPI_Buffer_attach(space, space_bytes);
  return space;
}
static void detach_space(void* expected) {
  void* space = NULL;
  int bytes = 0;
  MPI_Buffer_detach(&space, &bytes);
  CHECK(space == expected);
  CHECK_EQUAL(bytes, space_bytes);
  free(space);
}

/* Receives are posted before the send starts; the byte behind the buffer stays as it is. */
static void expected_in_every_mode(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  void* const space = attach_space();
  char* const out = allocate(largest_size);
  char* const in = allocate(largest_size + 1);
  for (int mode = 0; mode < modes; ++mode) {
    for (int i = 0; i < size_total; ++i) {
      const size_t bytes = (size_t)sizes[i];
      MPI_Request requests[2];
      MPI_Status statuses[2];
      memset(in, 0x55, bytes);
      in[bytes] = 77;
      MPI_Irecv(in, sizes[i], MPI_BYTE, peer, mode, MPI_COMM_WORLD, &requests[0]);
      signal_to(peer);
      wait_for_signal_of(peer);
      fill(out, bytes, seed_of(my_rank, peer, i * modes + mode));
      starts[mode](out, sizes[i], MPI_BYTE, peer, mode, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, statuses);
      CHECK_STATUS(&statuses[0], peer, mode, sizes[i]);
      VERIFY(in, bytes, seed_of(peer, my_rank, i * modes + mode));
      CHECK_EQUAL(in[bytes], 77);
      CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    }
  }
  detach_space(space);
  free(in);
  free(out);
}

/* The message is there, or announced, before anybody asks for it. */
static void unexpected_in_every_mode(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  void* const space = attach_space();
  char* const out = allocate(largest_size);
  char* const in = allocate(largest_size);
  for (int mode = 0; mode < 3; ++mode) {
    for (int i = 0; i < size_total; ++i) {
      const size_t bytes = (size_t)sizes[i];
      MPI_Request request;
      MPI_Status status;
      fill(out, bytes, seed_of(my_rank, peer, i * modes + mode));
      starts[mode](out, sizes[i], MPI_BYTE, peer, mode, MPI_COMM_WORLD, &request);
      signal_to(peer);
      wait_for_signal_of(peer);
      memset(in, 0x55, bytes);
      MPI_Recv(in, sizes[i], MPI_BYTE, peer, mode, MPI_COMM_WORLD, &status);
      CHECK_STATUS(&status, peer, mode, sizes[i]);
      VERIFY(in, bytes, seed_of(peer, my_rank, i * modes + mode));
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  detach_space(space);
  free(in);
  free(out);
}

static void blocking_in_every_mode(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  void* const space = attach_space();
  char* const buffer = allocate(largest_size);
  for (int mode = 0; mode < modes; ++mode) {
    for (int i = 0; i < size_total; ++i) {
      const size_t bytes = (size_t)sizes[i];
      if (my_rank & 1) {
        MPI_Request request;
        MPI_Irecv(buffer, sizes[i], MPI_BYTE, peer, mode, MPI_COMM_WORLD, &request);
        signal_to(peer); /* a ready send needs its receive */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        VERIFY(buffer, bytes, seed_of(peer, my_rank, i * modes + mode));
      } else {
        wait_for_signal_of(peer);
        fill(buffer, bytes, seed_of(my_rank, peer, i * modes + mode));
        sends[mode](buffer, sizes[i], MPI_BYTE, peer, mode, MPI_COMM_WORLD);
        memset(buffer, 0, bytes); /* ours again, whatever the receiver does */
      }
    }
  }
  detach_space(space);
  free(buffer);
}

/* Nobody has asked for the message, so a synchronous send cannot be complete. */
static void synchronous_waits_for_its_receive(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const buffer = allocate(100000);
  static const int lengths[] = {0, 8, 5000, 100000};
  for (int i = 0; i < 4; ++i) {
    if (my_rank & 1) {
      wait_for_signal_of(peer);
      MPI_Recv(buffer, lengths[i], MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(buffer, (size_t)lengths[i], seed_of(peer, my_rank, i));
    } else {
      MPI_Request request;
      int done = 0, ever = 0;
      fill(buffer, (size_t)lengths[i], seed_of(my_rank, peer, i));
      MPI_Issend(buffer, lengths[i], MPI_BYTE, peer, 3, MPI_COMM_WORLD, &request);
      for (int poll = 0; poll < 200; ++poll) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        ever |= done;
      }
      CHECK_EQUAL(ever, 0);
      signal_to(peer);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  free(buffer);
}

/* Both send before either receives; only the attached space makes that right. It is used again and again. */
static void buffered_sends_need_no_receiver(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { bytes = 300000, messages = 7, rounds = 5 };
  char* const buffer = allocate(bytes);
  for (int round = 0; round < rounds; ++round) {
    void* const space = attach_space();
    for (int i = 0; i < messages; ++i) {
      fill(buffer, bytes, seed_of(my_rank, peer, round * messages + i));
      MPI_Bsend(buffer, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD);
    }
    for (int i = messages - 1; i >= 0; --i) {
      MPI_Recv(buffer, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(buffer, bytes, seed_of(peer, my_rank, round * messages + i));
    }
    detach_space(space);
  }
  free(buffer);
}

/* Detaching waits until all is sent, though the receiver takes it late. */
static void detaching_waits_for_the_messages(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { bytes = 200000, messages = 10 };
  char* const buffer = allocate(bytes);
  if (my_rank & 1) {
    wait_for_signal_of(peer);
    for (int i = 0; i < messages; ++i) {
      MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(buffer, bytes, seed_of(peer, my_rank, i));
    }
  } else {
    void* const space = attach_space();
    for (int i = 0; i < messages; ++i) {
      fill(buffer, bytes, seed_of(my_rank, peer, i));
      MPI_Bsend(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
    signal_to(peer);
    detach_space(space);
  }
  free(buffer);
}

static void shift_in_a_ring(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  char* const out = allocate(largest_size);
  char* const in = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    MPI_Status status;
    fill(out, (size_t)sizes[i], seed_of(my_rank, next, i));
    MPI_Sendrecv(out, sizes[i], MPI_BYTE, next, i, in, sizes[i], MPI_BYTE, previous, i, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, previous, i, sizes[i]);
    VERIFY(in, (size_t)sizes[i], seed_of(previous, my_rank, i));
  }
  free(in);
  free(out);
}

static void shift_and_replace_in_a_ring(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  char* const buffer = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    MPI_Status status;
    fill(buffer, (size_t)sizes[i], seed_of(my_rank, next, i));
    MPI_Sendrecv_replace(buffer, sizes[i], MPI_BYTE, next, i, previous, i, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, previous, i, sizes[i]);
    VERIFY(buffer, (size_t)sizes[i], seed_of(previous, my_rank, i));
  }
  free(buffer);
}

/* Along a line that has ends; the one at the end sends to nobody, the other receives from nobody. */
static void shift_along_a_line(void) {
  const int next = my_rank + 1 < rank_count ? my_rank + 1 : MPI_PROC_NULL;
  const int previous = my_rank > 0 ? my_rank - 1 : MPI_PROC_NULL;
  int out = my_rank + 100, in = -1, both = my_rank + 200;
  MPI_Status status;
  MPI_Sendrecv(&out, 1, MPI_INT, next, 5, &in, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &status);
  CHECK_EQUAL(in, previous == MPI_PROC_NULL ? -1 : previous + 100);
  CHECK_STATUS(&status, previous, previous == MPI_PROC_NULL ? MPI_ANY_TAG : 5, previous == MPI_PROC_NULL ? 0 : 4);
  MPI_Sendrecv_replace(&both, 1, MPI_INT, next, 6, previous, 6, MPI_COMM_WORLD, &status);
  CHECK_EQUAL(both, previous == MPI_PROC_NULL ? my_rank + 200 : previous + 200);
  CHECK_STATUS(&status, previous, previous == MPI_PROC_NULL ? MPI_ANY_TAG : 6, previous == MPI_PROC_NULL ? 0 : 4);
}

/* The two halves of a Sendrecv are messages like others: one rank may use single calls, with other sizes and tags. */
static void sendrecv_meets_single_calls(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { there = 70000, back = 12 };
  char* const out = allocate(there);
  char* const in = allocate(there);
  MPI_Status status;
  if (my_rank & 1) {
    MPI_Recv(in, there, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status);
    VERIFY(in, there, 1);
    fill(out, back, 2);
    MPI_Send(out, back, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
  } else {
    fill(out, there, 1);
    MPI_Sendrecv(out, there, MPI_BYTE, peer, 1, in, there, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
    CHECK_STATUS(&status, peer, 2, back);
    VERIFY(in, back, 2);
  }
  free(in);
  free(out);
}

static void to_oneself_receive_first(void) {
  char* const out = allocate(largest_size);
  char* const in = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    for (int wildcard = 0; wildcard < 2; ++wildcard) {
      MPI_Request request;
      MPI_Status status;
      MPI_Irecv(in, sizes[i], MPI_BYTE, wildcard ? MPI_ANY_SOURCE : my_rank, i, MPI_COMM_WORLD, &request);
      fill(out, (size_t)sizes[i], (uint64_t)(2 * i + wildcard));
      MPI_Send(out, sizes[i], MPI_BYTE, my_rank, i, MPI_COMM_WORLD);
      MPI_Wait(&request, &status);
      CHECK_STATUS(&status, my_rank, i, sizes[i]);
      VERIFY(in, (size_t)sizes[i], (uint64_t)(2 * i + wildcard));
    }
  }
  free(in);
  free(out);
}

static void to_oneself_send_first(void) {
  char* const out = allocate(largest_size);
  char* const in = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    for (int synchronous = 0; synchronous < 2; ++synchronous) {
      MPI_Request request;
      MPI_Status status;
      fill(out, (size_t)sizes[i], (uint64_t)(2 * i + synchronous));
      (synchronous ? MPI_Issend : MPI_Isend)(out, sizes[i], MPI_BYTE, my_rank, i, MPI_COMM_WORLD, &request);
      MPI_Recv(in, sizes[i], MPI_BYTE, my_rank, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      CHECK_STATUS(&status, my_rank, i, sizes[i]);
      VERIFY(in, (size_t)sizes[i], (uint64_t)(2 * i + synchronous));
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(out, sizes[i], MPI_BYTE, my_rank, 1, in, sizes[i], MPI_BYTE, my_rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    VERIFY(in, (size_t)sizes[i], (uint64_t)(2 * i + 1));
    fill(in, (size_t)sizes[i], 99);
    MPI_Sendrecv_replace(in, sizes[i], MPI_BYTE, my_rank, 1, my_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    VERIFY(in, (size_t)sizes[i], 99);
  }
  free(in);
  free(out);
}

static void to_proc_null(void) {
  char byte = 9;
  MPI_Status status = marked_status();
  MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Ssend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Rsend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  CHECK_EQUAL(byte, 9);
}

static void requests_to_proc_null(void) {
  char byte = 9;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Irecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Issend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  CHECK_EQUAL(byte, 9);
}

static void status_of_irecv_from_proc_null(void) {
  char byte = 9;
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    MPI_Status status = marked_status();
    MPI_Irecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, i ? i : MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  }
}

static void nothing_with_null_buffers(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  MPI_Status status;
  MPI_Request requests[2];
  MPI_Irecv(NULL, 0, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(NULL, 0, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Sendrecv(NULL, 0, MPI_INT, peer, 7, NULL, 0, MPI_INT, peer, 7, MPI_COMM_WORLD, &status);
  CHECK_STATUS(&status, peer, 7, 0);
  /* Nothing, where something was allowed. */
  int untouched = 17;
  MPI_Sendrecv(NULL, 0, MPI_INT, peer, 8, &untouched, 1, MPI_INT, peer, 8, MPI_COMM_WORLD, &status);
  CHECK_STATUS(&status, peer, 8, 0);
  CHECK_EQUAL(untouched, 17);
}

/* A receive may be longer than its message; the rest of the buffer stays. */
static void room_for_more(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const out = allocate(largest_size);
  char* const in = allocate(2 * largest_size + 10);
  for (int i = 0; i < size_total; ++i) {
    for (int first = 0; first < 2; ++first) { /* receive posted before or after the message came */
      MPI_Request request;
      MPI_Status status;
      const size_t bytes = (size_t)sizes[i];
      fill(out, bytes, seed_of(my_rank, peer, i));
      memset(in, 0x33, 2 * bytes + 10);
      if (first) {
        MPI_Irecv(in, 2 * sizes[i] + 10, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request);
        MPI_Send(out, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
      } else {
        MPI_Isend(out, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &request);
        signal_to(peer);
        wait_for_signal_of(peer);
        MPI_Recv(in, 2 * sizes[i] + 10, MPI_BYTE, peer, i, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      CHECK_STATUS(&status, peer, i, sizes[i]);
      VERIFY(in, bytes, seed_of(peer, my_rank, i));
      VERIFY_ALL(in + bytes, bytes + 10, 0x33);
    }
  }
  free(in);
  free(out);
}

/* All ranks to all ranks at once, oneself among them. */
static void all_to_all_at_once(void) {
  char** const out = allocate((size_t)rank_count * sizeof *out);
  char** const in = allocate((size_t)rank_count * sizeof *in);
  MPI_Request* const requests = allocate(2 * (size_t)rank_count * sizeof *requests);
  MPI_Status* const statuses = allocate(2 * (size_t)rank_count * sizeof *statuses);
  const int step = rank_count > 3 ? 3 : 1;
  for (int i = 0; i < size_total; i += step) {
    const int bytes = sizes[i];
    for (int other = 0; other < rank_count; ++other) {
      out[other] = allocate((size_t)bytes);
      in[other] = allocate((size_t)bytes);
      fill(out[other], (size_t)bytes, seed_of(my_rank, other, i));
      MPI_Irecv(in[other], bytes, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[other]);
    }
    for (int k = 0; k < rank_count; ++k) {
      const int other = (my_rank + k) % rank_count;
      MPI_Isend(out[other], bytes, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[rank_count + other]);
    }
    MPI_Waitall(2 * rank_count, requests, statuses);
    for (int other = 0; other < rank_count; ++other) {
      CHECK_STATUS(&statuses[other], other, i, bytes);
      VERIFY(in[other], (size_t)bytes, seed_of(other, my_rank, i));
      free(out[other]);
      free(in[other]);
    }
  }
  free(statuses);
  free(requests);
  free(in);
  free(out);
}

/* Several sends may read one buffer at the same time. */
static void one_buffer_in_many_sends(void) {
  enum { bytes = 150000, copies = 8 };
  char* const out = allocate(bytes);
  char* const in = allocate((size_t)bytes * copies);
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Request requests[2 * copies];
  fill(out, bytes, (uint64_t)my_rank);
  for (int i = 0; i < copies; ++i) {
    MPI_Irecv(in + (size_t)i * bytes, bytes, MPI_BYTE, previous, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(out, bytes, MPI_BYTE, next, i, MPI_COMM_WORLD, &requests[copies + i]);
  }
  MPI_Waitall(2 * copies, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < copies; ++i) VERIFY(in + (size_t)i * bytes, bytes, (uint64_t)previous);
  free(in);
  free(out);
}

/* Neighbouring pieces of one array go to different ranks and come from them, so that whole cache lines are shared. */
static void neighbouring_pieces_of_one_buffer(void) {
  enum { bytes = 13, rounds = 40 };
  char* const out = allocate((size_t)rank_count * bytes);
  char* const in = allocate((size_t)rank_count * bytes);
  MPI_Request* const requests = allocate(2 * (size_t)rank_count * sizeof *requests);
  for (int round = 0; round < rounds; ++round) {
    for (int other = 0; other < rank_count; ++other) {
      fill(out + other * bytes, bytes, seed_of(my_rank, other, round));
      MPI_Irecv(in + other * bytes, bytes, MPI_BYTE, other, round, MPI_COMM_WORLD, &requests[2 * other]);
      MPI_Isend(out + other * bytes, bytes, MPI_BYTE, other, round, MPI_COMM_WORLD, &requests[2 * other + 1]);
    }
    MPI_Waitall(2 * rank_count, requests, MPI_STATUSES_IGNORE);
    for (int other = 0; other < rank_count; ++other) VERIFY(in + other * bytes, bytes, seed_of(other, my_rank, round));
  }
  free(requests);
  free(in);
  free(out);
}

#if MPI_VERSION >= 4
/* Nonblocking exchanges meet plain sends and receives. */
static void nonblocking_exchanges(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const out = allocate(largest_size);
  char* const in = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    const size_t bytes = (size_t)sizes[i];
    MPI_Request request;
    MPI_Status status;
    for (int in_place = 0; in_place < 2; ++in_place) {
      fill(out, bytes, (uint64_t)(my_rank * 1000 + i));
      fill(in, bytes, (uint64_t)(my_rank * 1000 + i));
      if (my_rank % 2 == 0) {
        if (in_place)
          MPI_Isendrecv_replace(in, sizes[i], MPI_BYTE, peer, i, peer, i, MPI_COMM_WORLD, &request);
        else
          MPI_Isendrecv(out, sizes[i], MPI_BYTE, peer, i, in, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
      } else {
        MPI_Recv(in, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &status);
        MPI_Send(out, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD);
      }
      CHECK_STATUS(&status, peer, i, sizes[i]);
      VERIFY(in, bytes, (uint64_t)(peer * 1000 + i));
    }
  }
  free(in);
  free(out);
}

/* Functions with large counts meet those without. */
static void functions_with_large_counts(void) {
  typedef int large_send(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
  static large_send* const sends[] = {MPI_Send_c, MPI_Ssend_c, MPI_Bsend_c};
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  int value = -1;
  int space[1024], bytes = 0;
  void* back = NULL;
  MPI_Request request;
  MPI_Message message;
  MPI_Buffer_attach(space, sizeof space);
  for (int i = 0; i < 3; ++i) {
    if (my_rank % 2 == 0) {
      value = 40 + i;
      sends[i](&value, 1, MPI_INT, peer, i, MPI_COMM_WORLD);
      MPI_Recv_c(&value, 1, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&value, 1, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ++value;
      MPI_Isend_c(&value, 1, MPI_INT, peer, i, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK_EQUAL(value, 41 + i);
  }
  if (my_rank % 2 == 0) {
    MPI_Send(&value, 1, MPI_INT, peer, 9, MPI_COMM_WORLD);
    MPI_Sendrecv_replace_c(&value, 1, MPI_INT, peer, 10, peer, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Mprobe(peer, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    value = -1;
    MPI_Mrecv_c(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK_EQUAL(value, 43);
    value = 50;
    int got = -1;
    MPI_Sendrecv_c(&value, 1, MPI_INT, peer, 10, &got, 1, MPI_INT, peer, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, 43);
  }
  CHECK_EQUAL(value, 50);
  MPI_Buffer_detach(&back, &bytes);
}

static void buffer_of_a_large_count(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  const MPI_Count bytes = 1 << 16;
  char* const buffer = allocate((size_t)bytes);
  CHECK_EQUAL(MPI_Buffer_attach_c(buffer, bytes), MPI_SUCCESS);
  int in = -1;
  CHECK_EQUAL(MPI_Bsend(&my_rank, 1, MPI_INT, peer, 6, MPI_COMM_WORLD), MPI_SUCCESS);
  MPI_Recv(&in, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in, peer);
  void* given_back = NULL;
  MPI_Count size = 0;
  MPI_Buffer_detach_c(&given_back, &size);
  CHECK(given_back == buffer);
  CHECK_EQUAL(size, bytes);
  free(buffer);
}
#endif

const struct conformance_case point_to_point_cases[] = {
#if MPI_VERSION >= 4
    {"buffer_of_a_large_count", 2, buffer_of_a_large_count},
    {"nonblocking_exchanges", 2, nonblocking_exchanges},
    {"functions_with_large_counts", 2, functions_with_large_counts},
#endif
    {"every_size_blocking", 2, every_size_blocking},
    {"expected_in_every_mode", 2, expected_in_every_mode},
    {"unexpected_in_every_mode", 2, unexpected_in_every_mode},
    {"blocking_in_every_mode", 2, blocking_in_every_mode},
    {"synchronous_waits_for_its_receive", 2, synchronous_waits_for_its_receive},
    {"buffered_sends_need_no_receiver", 2, buffered_sends_need_no_receiver},
    {"detaching_waits_for_the_messages", 2, detaching_waits_for_the_messages},
    {"shift_in_a_ring", 1, shift_in_a_ring},
    {"shift_and_replace_in_a_ring", 1, shift_and_replace_in_a_ring},
    {"shift_along_a_line", 1, shift_along_a_line},
    {"sendrecv_meets_single_calls", 2, sendrecv_meets_single_calls},
    {"to_oneself_receive_first", 1, to_oneself_receive_first},
    {"to_oneself_send_first", 1, to_oneself_send_first},
    {"to_proc_null", 1, to_proc_null},
    {"requests_to_proc_null", 1, requests_to_proc_null},
    {"status_of_irecv_from_proc_null", 1, status_of_irecv_from_proc_null},
    {"nothing_with_null_buffers", 2, nothing_with_null_buffers},
    {"room_for_more", 2, room_for_more},
    {"all_to_all_at_once", 1, all_to_all_at_once},
    {"one_buffer_in_many_sends", 1, one_buffer_in_many_sends},
    {"neighbouring_pieces_of_one_buffer", 1, neighbouring_pieces_of_one_buffer},
    {NULL, 0, NULL},
};
