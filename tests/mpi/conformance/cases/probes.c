/* Looking at messages before receiving them, and taking them out of the queue. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

static void every_size_is_announced(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const buffer = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    for (int kind = 0; kind < 3; ++kind) { /* Probe, Iprobe, with wildcards */
      if (my_rank & 1) {
        MPI_Status status;
        int flag = 0, count = -1;
        if (kind == 0) MPI_Probe(peer, i, MPI_COMM_WORLD, &status);
        if (kind == 1) {
          while (!flag) MPI_Iprobe(peer, i, MPI_COMM_WORLD, &flag, &status);
        }
        if (kind == 2) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, peer, i, sizes[i]);
        MPI_Get_count(&status, MPI_BYTE, &count);
        memset(buffer, 0x55, (size_t)count);
        MPI_Recv(buffer, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, peer, i, sizes[i]);
        VERIFY(buffer, (size_t)sizes[i], seed_of(peer, 3 * i + kind));
      } else {
        fill(buffer, (size_t)sizes[i], seed_of(my_rank, 3 * i + kind));
        (kind == 1 ? MPI_Ssend : MPI_Send)(buffer, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD);
      }
    }
  }
  free(buffer);
}

static void nothing_is_not_found(void) {
  const int peer = pair_peer();
  int flag = 9, ever = 0;
  MPI_Status status;
  for (int i = 0; i < 50; ++i) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    ever |= flag;
  }
  CHECK_EQUAL(ever, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (peer == MPI_PROC_NULL) return;
  /* Another tag, another source, another communicator. */
  int out = my_rank, in = -1;
  MPI_Send(&out, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
  MPI_Probe(peer, 3, MPI_COMM_WORLD, &status);
  MPI_Iprobe(peer, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK_EQUAL(flag, 0);
  MPI_Iprobe(my_rank, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK_EQUAL(flag, 0);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  CHECK_EQUAL(flag, 0);
  for (int i = 0; i < 3; ++i) {
    MPI_Iprobe(peer, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQUAL(flag, 1);
  }
  MPI_Recv(&in, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in, peer);
  MPI_Iprobe(peer, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK_EQUAL(flag, 0);
}

/* The first that fits is shown, whatever came before. */
static void shows_the_first_that_fits(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int tags[] = {4, 9, 4, 7};
  if (my_rank & 1) {
    wait_for_signal_of(peer);
    MPI_Status status;
    MPI_Probe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, peer, 4, 1);
    MPI_Probe(peer, 7, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, peer, 7, 4);
    MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, peer, 9, 2);
    MPI_Probe(peer, 4, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, peer, 4, 1);
    char bytes[4];
    static const int order[] = {4, 4, 7, 9}, lengths[] = {1, 3, 4, 2};
    for (int i = 0; i < 4; ++i) {
      MPI_Recv(bytes, 4, MPI_BYTE, peer, order[i], MPI_COMM_WORLD, &status);
      CHECK_STATUS(&status, peer, order[i], lengths[i]);
    }
  } else {
    const char bytes[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; ++i) MPI_Send(bytes, i + 1, MPI_BYTE, peer, tags[i], MPI_COMM_WORLD);
    signal_to(peer);
  }
}

/* A message that a posted receive has taken is not there for a probe. */
static void posted_receives_come_first(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int lengths[] = {8, 100000};
  char* const first = allocate(100000);
  char* const second = allocate(100000);
  for (int kind = 0; kind < 2; ++kind) {
    const int bytes = lengths[kind];
    if (my_rank & 1) {
      MPI_Request request;
      MPI_Status status;
      MPI_Irecv(first, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
      signal_to(peer);
      MPI_Probe(peer, 1, MPI_COMM_WORLD, &status);
      CHECK_STATUS(&status, peer, 1, bytes / 2);
      MPI_Recv(second, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status);
      VERIFY(second, (size_t)bytes / 2, 2);
      MPI_Wait(&request, &status);
      CHECK_STATUS(&status, peer, 1, bytes);
      VERIFY(first, (size_t)bytes, 1);
    } else {
      MPI_Request requests[2];
      fill(first, (size_t)bytes, 1);
      fill(second, (size_t)bytes / 2, 2);
      wait_for_signal_of(peer);
      MPI_Isend(first, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(second, bytes / 2, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
  }
  free(second);
  free(first);
}

/* One rank probes for all, with sizes unknown; each source in order. */
static void probing_many_sources(void) {
  enum { messages = 40 };
  char* const buffer = allocate(60000);
  if (my_rank == 0) {
    int* const next = calloc((size_t)rank_count, sizeof *next);
    for (int i = 0; i < messages * (rank_count - 1); ++i) {
      MPI_Status status;
      int count = -1;
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      MPI_Recv(buffer, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const int number = next[status.MPI_SOURCE]++;
      CHECK_EQUAL(status.MPI_TAG, number);
      CHECK_EQUAL(count, (int)(mix(seed_of(status.MPI_SOURCE, number)) % 60000));
      VERIFY(buffer, (size_t)count, seed_of(status.MPI_SOURCE, number));
    }
    free(next);
  } else {
    for (int i = 0; i < messages; ++i) {
      const int bytes = (int)(mix(seed_of(my_rank, i)) % 60000);
      fill(buffer, (size_t)bytes, seed_of(my_rank, i));
      MPI_Send(buffer, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    }
  }
  free(buffer);
}

static void taken_messages_of_every_size(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char* const buffer = allocate(largest_size);
  for (int i = 0; i < size_total; ++i) {
    for (int kind = 0; kind < 4; ++kind) { /* Mprobe or Improbe, Mrecv or Imrecv */
      if (my_rank & 1) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        int flag = 0;
        if (kind & 1) {
          while (!flag) MPI_Improbe(peer, i, MPI_COMM_WORLD, &flag, &message, &status);
        } else {
          MPI_Mprobe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &message, &status);
        }
        CHECK_STATUS(&status, peer, i, sizes[i]);
        CHECK(message != MPI_MESSAGE_NULL);
        MPI_Iprobe(peer, i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK_EQUAL(flag, 0);
        status = marked_status();
        if (kind & 2) {
          MPI_Request request;
          MPI_Imrecv(buffer, sizes[i], MPI_BYTE, &message, &request);
          MPI_Wait(&request, &status);
        } else {
          MPI_Mrecv(buffer, sizes[i], MPI_BYTE, &message, &status);
        }
        CHECK(message == MPI_MESSAGE_NULL);
        CHECK_STATUS(&status, peer, i, sizes[i]);
        VERIFY(buffer, (size_t)sizes[i], seed_of(peer, 4 * i + kind));
        signal_to(peer);
      } else {
        fill(buffer, (size_t)sizes[i], seed_of(my_rank, 4 * i + kind));
        (kind == 2 ? MPI_Ssend : MPI_Send)(buffer, sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD);
        wait_for_signal_of(peer); /* or the next one would be found by the Iprobe */
      }
    }
  }
  free(buffer);
}

/* Taken messages keep no order: later ones first, receives pass them by. */
static void taken_messages_wait(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int lengths[] = {40, 100000};
  char* const buffer = allocate(100000);
  for (int kind = 0; kind < 2; ++kind) {
    const int bytes = lengths[kind];
    if (my_rank & 1) {
      MPI_Message messages[3];
      for (int i = 0; i < 3; ++i)
        MPI_Mprobe(peer, i == 1 ? MPI_ANY_TAG : 5, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE);
      MPI_Recv(buffer, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(buffer, (size_t)bytes, seed_of(peer, 3));
      for (int i = 2; i >= 0; --i) {
        MPI_Status status;
        MPI_Mrecv(buffer, bytes, MPI_BYTE, &messages[i], &status);
        CHECK_STATUS(&status, peer, 5, bytes);
        VERIFY(buffer, (size_t)bytes, seed_of(peer, i));
      }
    } else {
      char* out[4];
      MPI_Request requests[4];
      for (int i = 0; i < 4; ++i) {
        out[i] = allocate((size_t)bytes);
        fill(out[i], (size_t)bytes, seed_of(my_rank, i));
        MPI_Isend(out[i], bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < 4; ++i) free(out[i]);
    }
  }
  free(buffer);
}

static void taken_from_proc_null_and_oneself(void) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  MPI_Request request;
  int flag = 0, in = 3, out = my_rank + 9;
  MPI_Probe(MPI_PROC_NULL, 2, MPI_COMM_WORLD, &status);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  MPI_Iprobe(MPI_PROC_NULL, 2, MPI_COMM_WORLD, &flag, &status);
  CHECK_EQUAL(flag, 1);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  MPI_Mprobe(MPI_PROC_NULL, 2, MPI_COMM_WORLD, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  CHECK_EQUAL(in, 3);
  flag = 0;
  MPI_Improbe(MPI_PROC_NULL, 2, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK_EQUAL(flag, 1);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  MPI_Imrecv(&in, 1, MPI_INT, &message, &request);
  MPI_Wait(&request, &status);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  MPI_Isend(&out, 1, MPI_INT, my_rank, 6, MPI_COMM_WORLD, &request);
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  CHECK_STATUS(&status, my_rank, 6, 4);
  MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
  CHECK_EQUAL(in, my_rank + 9);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Imrecv requests between others in a Waitall. */
static void taken_messages_among_requests(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { total = 10, bytes = 30000 };
  char* const in = allocate((size_t)total * bytes);
  char* const out = allocate((size_t)total * bytes);
  MPI_Request sends[total], receives[total];
  MPI_Status statuses[total];
  for (int i = 0; i < total; ++i) {
    fill(out + i * bytes, bytes, seed_of(my_rank, i));
    MPI_Isend(out + i * bytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &sends[i]);
  }
  for (int i = total - 1; i >= 0; --i) {
    if (i % 2) {
      MPI_Message message;
      MPI_Mprobe(peer, i, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
      MPI_Imrecv(in + i * bytes, bytes, MPI_BYTE, &message, &receives[i]);
    } else {
      MPI_Irecv(in + i * bytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &receives[i]);
    }
  }
  MPI_Waitall(total, receives, statuses);
  MPI_Waitall(total, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < total; ++i) {
    CHECK_STATUS(&statuses[i], peer, i, bytes);
    VERIFY(in + i * bytes, bytes, seed_of(peer, i));
  }
  free(out);
  free(in);
}

/* Counts in units that do not divide the message. */
static void counts_of_other_types(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  char bytes[22] = {0};
  MPI_Request request;
  MPI_Status status;
  int count = 0;
  MPI_Isend(bytes, 22, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
  MPI_Probe(peer, 1, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK_EQUAL(count, 22);
  MPI_Get_count(&status, MPI_SHORT, &count);
  CHECK_EQUAL(count, 11);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK_EQUAL(count, MPI_UNDEFINED);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  CHECK_EQUAL(count, MPI_UNDEFINED);
  MPI_Recv(bytes, 22, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK_EQUAL(count, MPI_UNDEFINED);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

const struct conformance_case probe_cases[] = {
    {"every_size_is_announced", 2, every_size_is_announced},
    {"nothing_is_not_found", 1, nothing_is_not_found},
    {"shows_the_first_that_fits", 2, shows_the_first_that_fits},
    {"posted_receives_come_first", 2, posted_receives_come_first},
    {"probing_many_sources", 2, probing_many_sources},
    {"taken_messages_of_every_size", 2, taken_messages_of_every_size},
    {"taken_messages_wait", 2, taken_messages_wait},
    {"taken_from_proc_null_and_oneself", 1, taken_from_proc_null_and_oneself},
    {"taken_messages_among_requests", 2, taken_messages_among_requests},
    {"counts_of_other_types", 2, counts_of_other_types},
    {NULL, 0, NULL},
};
