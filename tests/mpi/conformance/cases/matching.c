/* Which message a receive gets: order between two ranks, tags, wildcards, and many at once. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

/* Messages of one source and tag are matched in the order in which they were sent, whatever their sizes. */
static void order_of_equal_tags(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { messages = 120 };
  static const int lengths[] = {0, 8, 200000, 64, 5000, 1, 70000, 9000};
  char* buffers[messages];
  MPI_Request requests[messages];
  for (int posted = 0; posted < 3; ++posted) { /* receives: before the sends, after them, half and half */
    if (my_rank & 1) {
      MPI_Status status;
      const int before = posted == 0 ? messages : posted == 1 ? 0 : messages / 2;
      for (int i = 0; i < messages; ++i) buffers[i] = allocate(200000);
      for (int i = 0; i < before; ++i) MPI_Irecv(buffers[i], 200000, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[i]);
      signal_to(peer);
      wait_for_signal_of(peer);
      for (int i = before; i < messages; ++i)
        MPI_Irecv(buffers[i], 200000, MPI_BYTE, i % 3 == 0 ? MPI_ANY_SOURCE : peer, i % 3 == 0 ? 5 : MPI_ANY_TAG,
                  MPI_COMM_WORLD, &requests[i]);
      for (int i = messages - 1; i >= 0; --i) {
        MPI_Wait(&requests[i], &status);
        CHECK_STATUS(&status, peer, 5, lengths[i % 8]);
        VERIFY(buffers[i], (size_t)lengths[i % 8], seed_of(peer, i));
        free(buffers[i]);
      }
    } else {
      wait_for_signal_of(peer);
      for (int i = 0; i < messages; ++i) {
        buffers[i] = allocate((size_t)lengths[i % 8]);
        fill(buffers[i], (size_t)lengths[i % 8], seed_of(my_rank, i));
        MPI_Isend(buffers[i], lengths[i % 8], MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[i]);
      }
      signal_to(peer);
      MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < messages; ++i) free(buffers[i]);
    }
  }
}

/* With any tag, the order of sending is the order of receiving. */
static void order_with_any_tag(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { messages = 200 };
  for (int i = 0; i < messages; ++i) {
    if ((my_rank & 1) == 0) {
      const int tag = (int)(mix((uint64_t)i) % 30000);
      MPI_Send(&i, 1, MPI_INT, peer, tag, MPI_COMM_WORLD);
    } else {
      int number = -1;
      MPI_Status status;
      MPI_Recv(&number, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      CHECK_EQUAL(number, i);
      CHECK_STATUS(&status, peer, (int)(mix((uint64_t)i) % 30000), 4);
    }
  }
}

static void tags_in_reverse(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { messages = 300 };
  static const int lengths[] = {16, 9000, 100000};
  for (int kind = 0; kind < 3; ++kind) {
    const int bytes = lengths[kind], count = kind == 2 ? 40 : messages;
    char* const buffer = allocate((size_t)bytes * (size_t)count);
    MPI_Request requests[messages];
    if (my_rank & 1) {
      wait_for_signal_of(peer);
      for (int i = count - 1; i >= 0; --i) {
        MPI_Status status;
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, peer, i, bytes);
        VERIFY(buffer, (size_t)bytes, seed_of(peer, i));
      }
    } else {
      for (int i = 0; i < count; ++i) {
        char* const mine = buffer + (size_t)i * (size_t)bytes;
        fill(mine, (size_t)bytes, seed_of(my_rank, i));
        MPI_Isend(mine, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
      }
      signal_to(peer);
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
    free(buffer);
  }
}

/* Receives that could take the same message: the one posted first gets it. What the receives 0..2 get is worked out by
   hand in `gets`: numbers of the messages 0, 1, 2 with the tags 5, 7, 5, all sent by the peer. */
struct three {
  int source[3], tag[3], gets[3];
};
enum { P = -100, A = MPI_ANY_SOURCE, T = MPI_ANY_TAG };
static const struct three threes[] = {
    {{A, P, P}, {5, T, 5}, {0, 1, 2}}, {{P, A, A}, {T, 5, T}, {0, 2, 1}}, {{P, P, P}, {7, T, T}, {1, 0, 2}},
    {{A, A, A}, {T, T, T}, {0, 1, 2}}, {{P, A, P}, {5, 5, 7}, {0, 2, 1}}, {{A, P, A}, {7, 5, 5}, {1, 0, 2}},
    {{A, A, P}, {5, 7, T}, {0, 1, 2}}, {{P, A, P}, {T, T, T}, {0, 1, 2}}, {{P, A, A}, {5, T, T}, {0, 1, 2}},
};
static void first_posted_first_served(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int tags[] = {5, 7, 5};
  static const int lengths[] = {4, 6000, 80000};
  for (int kind = 0; kind < 3; ++kind) {
    const int bytes = lengths[kind];
    for (size_t which = 0; which < sizeof threes / sizeof threes[0]; ++which) {
      for (int late = 0; late < 2; ++late) {
        char* buffers[3];
        MPI_Request requests[3];
        for (int i = 0; i < 3; ++i) buffers[i] = allocate((size_t)bytes);
        if (my_rank & 1) {
          if (late) wait_for_signal_of(peer);
          for (int i = 0; i < 3; ++i) {
            const int source = threes[which].source[i] == P ? peer : MPI_ANY_SOURCE;
            MPI_Irecv(buffers[i], bytes, MPI_BYTE, source, threes[which].tag[i], MPI_COMM_WORLD, &requests[i]);
          }
          if (!late) signal_to(peer);
          MPI_Status statuses[3];
          MPI_Waitall(3, requests, statuses);
          for (int i = 0; i < 3; ++i) {
            CHECK_STATUS(&statuses[i], peer, tags[threes[which].gets[i]], bytes);
            VERIFY(buffers[i], (size_t)bytes, seed_of(peer, threes[which].gets[i]));
          }
        } else {
          if (!late) wait_for_signal_of(peer);
          for (int i = 0; i < 3; ++i) {
            fill(buffers[i], (size_t)bytes, seed_of(my_rank, i));
            MPI_Isend(buffers[i], bytes, MPI_BYTE, peer, tags[i], MPI_COMM_WORLD, &requests[i]);
          }
          if (late) signal_to(peer);
          MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < 3; ++i) free(buffers[i]);
      }
    }
  }
}

/* Blocking receives pick from what has arrived. */
static void picks_from_what_has_arrived(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int tags[] = {1, 2, 3, 2, 1, 4};
  static const struct {
    int tag, gets;
  } picks[] = {{2, 1}, {MPI_ANY_TAG, 0}, {4, 5}, {MPI_ANY_TAG, 2}, {1, 4}, {MPI_ANY_TAG, 3}};
  if (my_rank & 1) {
    wait_for_signal_of(peer);
    for (int i = 0; i < 6; ++i) {
      int number = -1;
      MPI_Status status;
      MPI_Recv(&number, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : peer, picks[i].tag, MPI_COMM_WORLD, &status);
      CHECK_EQUAL(number, picks[i].gets);
      CHECK_EQUAL(status.MPI_TAG, tags[picks[i].gets]);
    }
  } else {
    for (int i = 0; i < 6; ++i) MPI_Send(&i, 1, MPI_INT, peer, tags[i], MPI_COMM_WORLD);
    signal_to(peer);
  }
}

static void many_outstanding(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { messages = 1500, slot = 256 };
  char* const out = allocate((size_t)messages * slot);
  char* const in = allocate((size_t)messages * slot);
  MPI_Request* const requests = allocate(2 * messages * sizeof *requests);
  MPI_Status* const statuses = allocate(2 * messages * sizeof *statuses);
  for (int i = 0; i < messages; ++i) {
    const int tag = (i * 7) % messages; /* 7 has no divisor in common with 1500 */
    MPI_Irecv(in + tag * slot, slot, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < messages; ++i) {
    const int tag = (i * 11) % messages;
    fill(out + tag * slot, (size_t)(tag % slot), seed_of(my_rank, tag));
    MPI_Isend(out + tag * slot, tag % slot, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[messages + i]);
  }
  MPI_Waitall(2 * messages, requests, statuses);
  for (int i = 0; i < messages; ++i) {
    const int tag = (i * 7) % messages;
    CHECK_STATUS(&statuses[i], peer, tag, tag % slot);
    VERIFY(in + tag * slot, (size_t)(tag % slot), seed_of(peer, tag));
  }
  free(statuses);
  free(requests);
  free(in);
  free(out);
}

/* From each source in order, whatever the order of the sources. */
static void any_source_keeps_the_order_of_each(void) {
  enum { messages = 60 };
  static const int lengths[] = {4, 3000, 40, 20000, 100000};
  char* const buffer = allocate(100000);
  if (my_rank == 0) {
    int* const next = calloc((size_t)rank_count, sizeof *next);
    for (int i = 0; i < messages * (rank_count - 1); ++i) {
      MPI_Status status;
      int count = -1;
      MPI_Recv(buffer, 100000, MPI_BYTE, MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : 9, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      const int number = next[status.MPI_SOURCE]++;
      CHECK_EQUAL(count, lengths[number % 5]);
      VERIFY(buffer, (size_t)count, seed_of(status.MPI_SOURCE, number));
    }
    for (int source = 1; source < rank_count; ++source) CHECK_EQUAL(next[source], messages);
    free(next);
  } else {
    for (int i = 0; i < messages; ++i) {
      fill(buffer, (size_t)lengths[i % 5], seed_of(my_rank, i));
      MPI_Send(buffer, lengths[i % 5], MPI_BYTE, 0, 9, MPI_COMM_WORLD);
    }
  }
  free(buffer);
}

/* Posted wildcards of all ranks at once: each takes exactly one message of each other rank. */
static void posted_wildcards_of_all(void) {
  const int others = rank_count - 1;
  enum { rounds = 30 };
  int* const in = allocate((size_t)others * sizeof *in);
  MPI_Request* const requests = allocate(2 * (size_t)others * sizeof *requests);
  MPI_Status* const statuses = allocate(2 * (size_t)others * sizeof *statuses);
  int* const seen = allocate((size_t)rank_count * sizeof *seen);
  for (int round = 0; round < rounds; ++round) {
    int out = my_rank * 1000 + round;
    for (int i = 0; i < others; ++i) MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < others; ++i)
      MPI_Isend(&out, 1, MPI_INT, (my_rank + 1 + i) % rank_count, round, MPI_COMM_WORLD, &requests[others + i]);
    MPI_Waitall(2 * others, requests, statuses);
    memset(seen, 0, (size_t)rank_count * sizeof *seen);
    for (int i = 0; i < others; ++i) {
      ++seen[statuses[i].MPI_SOURCE];
      CHECK_EQUAL(in[i], statuses[i].MPI_SOURCE * 1000 + round);
    }
    for (int i = 0; i < rank_count; ++i) CHECK_EQUAL(seen[i], i != my_rank);
  }
  free(seen);
  free(statuses);
  free(requests);
  free(in);
}

/* Receives for one source between wildcards: a wildcard posted earlier must not take what a later one is for, unless it
   is first in line. Two senders; the receiver knows what is possible. */
static void wildcards_between_fixed_sources(void) {
  enum { rounds = 25 };
  for (int round = 0; round < rounds; ++round) {
    if (my_rank == 0) {
      int in[4] = {-1, -1, -1, -1};
      MPI_Request requests[4];
      MPI_Status statuses[4];
      MPI_Irecv(&in[0], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Irecv(&in[2], 1, MPI_INT, 2, 1, MPI_COMM_WORLD, &requests[2]);
      MPI_Irecv(&in[3], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[3]);
      if (round % 2 == 0) {
        signal_to(1);
        signal_to(2);
      }
      MPI_Waitall(4, requests, statuses);
      /* Both sent the numbers 1 and 2. The first of rank 1 goes to receive 0. If receive 1 got the first of rank 2,
         then receive 2 has the second; if it got the second of rank 1, receives 2 and 3 have those of rank 2 in order.
       */
      CHECK_EQUAL(in[0], 1);
      CHECK_EQUAL(statuses[0].MPI_SOURCE, 1);
      CHECK_EQUAL(statuses[2].MPI_SOURCE, 2);
      const int from_two = statuses[1].MPI_SOURCE == 2;
      CHECK_EQUAL(in[1], from_two ? 1 : 2);
      CHECK_EQUAL(in[2], from_two ? 2 : 1);
      CHECK_EQUAL(statuses[3].MPI_SOURCE, from_two ? 1 : 2);
      CHECK_EQUAL(in[3], 2);
    } else if (my_rank <= 2) {
      if (round % 2 == 0) wait_for_signal_of(0);
      for (int number = 1; number <= 2; ++number) MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void largest_tags(void) {
  const int peer = pair_peer();
  int* largest = NULL;
  int there = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &there);
  CHECK(there);
  CHECK(*largest >= 32767);
  if (peer == MPI_PROC_NULL) return;
  const int tags[] = {*largest, 0, *largest - 1, *largest / 2, 32767, 1 << 14};
  int in[6] = {0}, out[6];
  MPI_Request requests[12];
  MPI_Status statuses[12];
  for (int i = 0; i < 6; ++i) {
    out[i] = tags[i] ^ my_rank;
    MPI_Irecv(&in[i], 1, MPI_INT, peer, tags[i], MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 5; i >= 0; --i) MPI_Isend(&out[i], 1, MPI_INT, peer, tags[i], MPI_COMM_WORLD, &requests[6 + i]);
  MPI_Waitall(12, requests, statuses);
  for (int i = 0; i < 6; ++i) {
    CHECK_STATUS(&statuses[i], peer, tags[i], 4);
    CHECK_EQUAL(in[i], tags[i] ^ peer);
  }
}

/* A flood that nobody asked for, taken in the reverse order afterwards. */
static void flood_of_unexpected_messages(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const struct {
    int bytes, count;
  } kinds[] = {{4, 6000}, {1000, 2000}, {6000, 600}, {30000, 200}};
  for (int kind = 0; kind < 4; ++kind) {
    const int count = kinds[kind].count, bytes = kinds[kind].bytes;
    char* const buffer = allocate((size_t)bytes * (size_t)count);
    MPI_Request* const requests = allocate((size_t)count * sizeof *requests);
    if (my_rank & 1) {
      wait_for_signal_of(peer);
      int wrong = 0;
      for (int i = count - 1; i >= 0; --i) {
        MPI_Status status;
        int found = -1;
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &status);
        memcpy(&found, buffer, 4);
        wrong += found != i;
        if (i % 50 == 0) VERIFY(buffer + 4, (size_t)bytes - 4, seed_of(peer, i));
      }
      CHECK_EQUAL(wrong, 0);
    } else {
      for (int i = 0; i < count; ++i) {
        char* const mine = buffer + (size_t)i * (size_t)bytes;
        memcpy(mine, &i, 4);
        fill(mine + 4, (size_t)bytes - 4, seed_of(my_rank, i));
        MPI_Isend(mine, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
      }
      signal_to(peer);
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
    free(requests);
    free(buffer);
  }
}

/* Many receives of one tag are pending while messages of another go by. */
static void messages_pass_posted_receives(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { posted = 500, passing = 200 };
  int in[posted], number = -1;
  MPI_Request requests[posted];
  for (int i = 0; i < posted; ++i) MPI_Irecv(&in[i], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < passing; ++i) {
    int out = i;
    MPI_Sendrecv(&out, 1, MPI_INT, peer, 2, &number, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(number, i);
  }
  for (int i = 0; i < posted; ++i) MPI_Send(&i, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
  MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
  int wrong = 0;
  for (int i = 0; i < posted; ++i) wrong += in[i] != i;
  CHECK_EQUAL(wrong, 0);
}

const struct conformance_case matching_cases[] = {
    {"order_of_equal_tags", 2, order_of_equal_tags},
    {"order_with_any_tag", 2, order_with_any_tag},
    {"tags_in_reverse", 2, tags_in_reverse},
    {"first_posted_first_served", 2, first_posted_first_served},
    {"picks_from_what_has_arrived", 2, picks_from_what_has_arrived},
    {"many_outstanding", 2, many_outstanding},
    {"any_source_keeps_the_order_of_each", 2, any_source_keeps_the_order_of_each},
    {"posted_wildcards_of_all", 2, posted_wildcards_of_all},
    {"wildcards_between_fixed_sources", 3, wildcards_between_fixed_sources},
    {"largest_tags", 1, largest_tags},
    {"flood_of_unexpected_messages", 2, flood_of_unexpected_messages},
    {"messages_pass_posted_receives", 2, messages_pass_posted_receives},
    {NULL, 0, NULL},
};
