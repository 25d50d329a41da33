/* Communicators: made in every way, used for messages, kept apart, freed while messages are pending. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

/* Messages of several sizes around a ring of the communicator, and to oneself; everybody of it calls this. */
static void ring_on(MPI_Comm communicator, int what) {
  static const int lengths[] = {4, 5000, 90000};
  int rank, ranks;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  char* const in = allocate(90000);
  char* const out = allocate(90000);
  for (int i = 0; i < 3; ++i) {
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    MPI_Status status;
    fill(out, (size_t)lengths[i], seed_of(rank, what));
    MPI_Sendrecv(out, lengths[i], MPI_BYTE, next, i, in, 90000, MPI_BYTE, i == 1 ? MPI_ANY_SOURCE : previous, i,
                 communicator, &status);
    CHECK_STATUS(&status, previous, i, lengths[i]);
    VERIFY(in, (size_t)lengths[i], seed_of(previous, what));
  }
  free(out);
  free(in);
}

/* The same source and tag on three communicators; received in another order, also with wildcards. */
static void contexts_are_apart(void) {
  const int peer = pair_peer();
  MPI_Comm all[3] = {MPI_COMM_WORLD};
  MPI_Comm_dup(MPI_COMM_WORLD, &all[1]);
  MPI_Comm_dup(all[1], &all[2]);
  static const int lengths[] = {4, 9000, 200000};
  for (int kind = 0; kind < 3 && peer != MPI_PROC_NULL; ++kind) {
    const int bytes = lengths[kind];
    char* in[3];
    char* out[3];
    MPI_Request requests[3];
    for (int i = 0; i < 3; ++i) {
      in[i] = allocate((size_t)bytes);
      out[i] = allocate((size_t)bytes);
      fill(out[i], (size_t)bytes, seed_of(my_rank, i));
      MPI_Isend(out[i], bytes, MPI_BYTE, peer, 1, all[i], &requests[i]);
    }
    static const int order[] = {2, 0, 1};
    for (int i = 0; i < 3; ++i) {
      MPI_Status status;
      MPI_Recv(in[order[i]], bytes, MPI_BYTE, i ? MPI_ANY_SOURCE : peer, i ? MPI_ANY_TAG : 1, all[order[i]], &status);
      CHECK_STATUS(&status, peer, 1, bytes);
      VERIFY(in[order[i]], (size_t)bytes, seed_of(peer, order[i]));
    }
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; ++i) {
      free(in[i]);
      free(out[i]);
    }
  }
  MPI_Comm_free(&all[1]);
  MPI_Comm_free(&all[2]);
}

/* A wildcard receive that waits on one communicator is not served by another one. */
static void wildcards_stay_in_their_communicator(void) {
  const int peer = pair_peer();
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  if (peer != MPI_PROC_NULL) {
    int in[2] = {-1, -1}, out = my_rank, flag = 0;
    MPI_Request request;
    MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &request);
    MPI_Sendrecv(&out, 1, MPI_INT, peer, 1, &in[1], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in[1], peer);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK_EQUAL(flag, 0);
    signal_to(peer);
    wait_for_signal_of(peer);
    MPI_Send(&out, 1, MPI_INT, peer, 2, other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in[0], peer);
  }
  MPI_Comm_free(&other);
}

static void split_by_colour_and_key(void) {
  for (int colours = 1; colours <= 3; ++colours) {
    for (int backwards = 0; backwards < 2; ++backwards) {
      MPI_Comm part;
      const int colour = my_rank % colours;
      MPI_Comm_split(MPI_COMM_WORLD, colour, backwards ? -my_rank : my_rank, &part);
      int rank, ranks;
      MPI_Comm_rank(part, &rank);
      MPI_Comm_size(part, &ranks);
      const int members = (rank_count - colour + colours - 1) / colours;
      CHECK_EQUAL(ranks, members);
      CHECK_EQUAL(rank, backwards ? members - 1 - my_rank / colours : my_rank / colours);
      ring_on(part, colours * 2 + backwards);
      MPI_Comm_free(&part);
      CHECK(part == MPI_COMM_NULL);
    }
  }
  MPI_Comm none = MPI_COMM_WORLD;
  MPI_Comm_split(MPI_COMM_WORLD, my_rank == 0 ? MPI_UNDEFINED : 1, 0, &none);
  CHECK_EQUAL(none == MPI_COMM_NULL, my_rank == 0);
  if (none != MPI_COMM_NULL) {
    ring_on(none, 77);
    MPI_Comm_free(&none);
  }
}

/* Halves of halves, all alive at the same time. */
static void splits_of_splits(void) {
  MPI_Comm levels[8];
  int depth = 0;
  MPI_Comm current = MPI_COMM_WORLD;
  for (;;) {
    int rank, ranks;
    MPI_Comm_rank(current, &rank);
    MPI_Comm_size(current, &ranks);
    if (ranks == 1 || depth == 8) break;
    MPI_Comm_split(current, rank < ranks / 2, rank, &levels[depth]);
    current = levels[depth++];
    ring_on(current, depth);
  }
  for (int i = 0; i < depth; ++i) ring_on(levels[i], 50 + i);
  for (int i = 0; i < depth; ++i) MPI_Comm_free(&levels[i]);
}

static void made_from_groups(void) {
  MPI_Group world, chosen;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  /* All in reverse order. */
  int* const reverse = allocate((size_t)rank_count * sizeof *reverse);
  for (int i = 0; i < rank_count; ++i) reverse[i] = rank_count - 1 - i;
  MPI_Group_incl(world, rank_count, reverse, &chosen);
  MPI_Comm made;
  MPI_Comm_create(MPI_COMM_WORLD, chosen, &made);
  int rank = -1;
  MPI_Comm_rank(made, &rank);
  CHECK_EQUAL(rank, rank_count - 1 - my_rank);
  ring_on(made, 1);
  MPI_Comm_free(&made);
  MPI_Group_free(&chosen);
  /* Only the members call: those of even rank, then those of odd rank. */
  int members = 0;
  for (int i = my_rank % 2; i < rank_count; i += 2) reverse[members++] = i;
  MPI_Group_incl(world, members, reverse, &chosen);
  MPI_Comm_create_group(MPI_COMM_WORLD, chosen, 17 + my_rank % 2, &made);
  CHECK(made != MPI_COMM_NULL);
  ring_on(made, 2);
  MPI_Comm_free(&made);
  MPI_Group_free(&chosen);
  /* MPI_Comm_create for some. */
  const int first[] = {0};
  MPI_Group_excl(world, 1, first, &chosen);
  if (rank_count > 1) {
    MPI_Comm_create(MPI_COMM_WORLD, chosen, &made);
    CHECK_EQUAL(made == MPI_COMM_NULL, my_rank == 0);
    if (made != MPI_COMM_NULL) {
      ring_on(made, 3);
      MPI_Comm_free(&made);
    }
  }
  if (chosen != MPI_GROUP_EMPTY) MPI_Group_free(&chosen);
  MPI_Group_free(&world);
  free(reverse);
}

static void duplicated_without_waiting(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Comm copies[3];
  MPI_Request requests[5];
  int in = -1, out = my_rank;
  MPI_Irecv(&in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[3]);
  for (int i = 0; i < 3; ++i) MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]);
  MPI_Isend(&out, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[4]);
  MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(in, previous);
  for (int i = 2; i >= 0; --i) ring_on(copies[i], i);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&copies[i]);
}

/* Asked for until it is there, on some ranks; what is there can be used, although its request goes on. */
static void duplicated_and_asked_for(void) {
  MPI_Comm copy;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
  if (my_rank % 2 == 0) {
    for (int done = 0; !done;) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);
    ring_on(copy, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);
    ring_on(copy, 1);
  }
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Comm_free(&copy);
}

static void duplicated_with_info_and_name(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "trireme_test", "yes");
  MPI_Comm copy;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy);
  MPI_Info_free(&info);
  ring_on(copy, 1);
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0, relation = -1;
  MPI_Comm_set_name(copy, "a copy");
  MPI_Comm_get_name(copy, name, &length);
  CHECK(strcmp(name, "a copy") == 0);
  MPI_Comm_compare(copy, MPI_COMM_WORLD, &relation);
  CHECK_EQUAL(relation, MPI_CONGRUENT);
  MPI_Comm_compare(copy, copy, &relation);
  CHECK_EQUAL(relation, MPI_IDENT);
  MPI_Comm_disconnect(&copy);
  CHECK(copy == MPI_COMM_NULL);
}

/* A torus and a plate with edges, with exchanges along their dimensions. */
static void cartesian_grids(void) {
  int extents[2] = {0, 0};
  MPI_Dims_create(rank_count, 2, extents);
  for (int closed = 0; closed < 2; ++closed) {
    const int periods[2] = {closed, closed};
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, closed, &grid);
    int rank, coordinates[2];
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, coordinates);
    for (int dimension = 0; dimension < 2; ++dimension) {
      int before, after, in[2] = {-1, -1}, out = rank;
      MPI_Cart_shift(grid, dimension, 1, &before, &after);
      CHECK_EQUAL(before == MPI_PROC_NULL, !closed && coordinates[dimension] == 0);
      MPI_Request requests[4];
      MPI_Status statuses[4];
      MPI_Irecv(&in[0], 1, MPI_INT, before, 1, grid, &requests[0]);
      MPI_Irecv(&in[1], 1, MPI_INT, after, 2, grid, &requests[1]);
      MPI_Isend(&out, 1, MPI_INT, after, 1, grid, &requests[2]);
      MPI_Isend(&out, 1, MPI_INT, before, 2, grid, &requests[3]);
      MPI_Waitall(4, requests, statuses);
      CHECK_EQUAL(in[0], before == MPI_PROC_NULL ? -1 : before);
      CHECK_EQUAL(in[1], after == MPI_PROC_NULL ? -1 : after);
      if (before != MPI_PROC_NULL) CHECK_STATUS(&statuses[0], before, 1, 4);
      MPI_Comm line;
      const int keep[2] = {dimension == 0, dimension == 1};
      MPI_Cart_sub(grid, keep, &line);
      int ranks = 0;
      MPI_Comm_size(line, &ranks);
      CHECK_EQUAL(ranks, extents[dimension]);
      ring_on(line, dimension);
      MPI_Comm_free(&line);
    }
    int sum[4] = {-1, -1, -1, -1}, mine = rank;
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, sum, 1, MPI_INT, grid);
    for (int dimension = 0; dimension < 2; ++dimension) {
      int before, after;
      MPI_Cart_shift(grid, dimension, 1, &before, &after);
      CHECK_EQUAL(sum[2 * dimension], before == MPI_PROC_NULL ? -1 : before);
      CHECK_EQUAL(sum[2 * dimension + 1], after == MPI_PROC_NULL ? -1 : after);
    }
    MPI_Comm_free(&grid);
  }
}

static void graph_with_neighbours(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &graph);
  int in = -1;
  MPI_Neighbor_alltoall(&my_rank, 1, MPI_INT, &in, 1, MPI_INT, graph);
  CHECK_EQUAL(in, previous);
  ring_on(graph, 1);
  MPI_Comm_free(&graph);
}

/* Two groups that talk across: ranks are those of the other side. */
static void between_two_groups(void) {
  MPI_Comm side, across, copy, merged;
  const int high = my_rank >= rank_count / 2;
  const int here = high ? rank_count - rank_count / 2 : rank_count / 2, there = rank_count - here;
  const int first_there = high ? 0 : rank_count / 2, first_here = high ? rank_count / 2 : 0;
  MPI_Comm_split(MPI_COMM_WORLD, high, my_rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, first_there, 99, &across);
  MPI_Comm_dup(across, &copy);
  int rank = -1, remote = -1, inter = 0;
  MPI_Comm_rank(across, &rank);
  MPI_Comm_remote_size(across, &remote);
  MPI_Comm_test_inter(across, &inter);
  CHECK_EQUAL(rank, my_rank - first_here);
  CHECK_EQUAL(remote, there);
  CHECK_EQUAL(inter, 1);
  /* Everybody sends to everybody on the other side, on both communicators; wildcards give the rank over there. */
  MPI_Request* const requests = allocate(4 * (size_t)there * sizeof *requests);
  MPI_Status* const statuses = allocate(4 * (size_t)there * sizeof *statuses);
  char* const in = allocate(2 * (size_t)there * 10000);
  char* const out = allocate(2 * (size_t)there * 10000);
  for (int bytes = 10; bytes <= 10000; bytes *= 1000) {
    MPI_Barrier(MPI_COMM_WORLD); /* no message of this round for the wildcards of the last one */
    for (int i = 0; i < there; ++i) {
      fill(out + i * bytes, (size_t)bytes, seed_of(my_rank, first_there + i));
      fill(out + (there + i) * bytes, (size_t)bytes, seed_of(my_rank, 500 + first_there + i));
      MPI_Irecv(in + i * bytes, bytes, MPI_BYTE, i, 3, across, &requests[i]);
      MPI_Irecv(in + (there + i) * bytes, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &requests[there + i]);
      MPI_Isend(out + (there + i) * bytes, bytes, MPI_BYTE, i, 3, copy, &requests[2 * there + i]);
      MPI_Isend(out + i * bytes, bytes, MPI_BYTE, i, 3, across, &requests[3 * there + i]);
    }
    MPI_Waitall(4 * there, requests, statuses);
    for (int i = 0; i < there; ++i) {
      CHECK_STATUS(&statuses[i], i, 3, bytes);
      VERIFY(in + i * bytes, (size_t)bytes, seed_of(first_there + i, my_rank));
      const int from = statuses[there + i].MPI_SOURCE;
      VERIFY(in + (there + i) * bytes, (size_t)bytes, seed_of(first_there + from, 500 + my_rank));
    }
  }
  MPI_Intercomm_merge(across, high, &merged);
  int merged_rank = -1;
  MPI_Comm_rank(merged, &merged_rank);
  CHECK_EQUAL(merged_rank, my_rank);
  ring_on(merged, 1);
  MPI_Comm backwards;
  MPI_Intercomm_merge(copy, !high, &backwards);
  MPI_Comm_rank(backwards, &merged_rank);
  CHECK_EQUAL(merged_rank, high ? rank : there + rank);
  ring_on(backwards, 2);
  MPI_Comm_free(&backwards);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&across);
  MPI_Comm_free(&side);
  free(out);
  free(in);
  free(statuses);
  free(requests);
}

static void ranks_that_share_memory(void) {
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, my_rank, MPI_INFO_NULL, &host);
  int ranks = 0;
  MPI_Comm_size(host, &ranks);
  CHECK_EQUAL(ranks, rank_count);
  ring_on(host, 1);
  MPI_Comm_free(&host);
  MPI_Comm none = MPI_COMM_WORLD;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none);
  CHECK(none == MPI_COMM_NULL);
}

static void alone(void) {
  ring_on(MPI_COMM_SELF, 1);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  ring_on(copy, 2);
  /* Not the same context as MPI_COMM_WORLD's. */
  int in[2] = {-1, -1}, out[2] = {1, 2};
  MPI_Request requests[2];
  MPI_Isend(&out[0], 1, MPI_INT, 0, 5, copy, &requests[0]);
  MPI_Isend(&out[1], 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[1]);
  MPI_Recv(&in[1], 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Recv(&in[0], 1, MPI_INT, 0, 5, copy, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(in[0], 1);
  CHECK_EQUAL(in[1], 2);
  MPI_Comm_free(&copy);
}

/* The handle goes, the messages come. */
static void freed_while_messages_are_pending(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  static const int lengths[] = {8, 6000, 300000};
  enum { rounds = 6 };
  for (int round = 0; round < rounds; ++round) {
    const int bytes = lengths[round % 3];
    char* const in = allocate((size_t)bytes);
    char* const out = allocate((size_t)bytes);
    MPI_Comm passing;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &passing);
    fill(out, (size_t)bytes, seed_of(my_rank, round));
    MPI_Irecv(in, bytes, MPI_BYTE, round < 3 ? previous : MPI_ANY_SOURCE, 1, passing, &requests[0]);
    if (round % 2) signal_to(previous), wait_for_signal_of(next);
    MPI_Isend(out, bytes, MPI_BYTE, next, 1, passing, &requests[1]);
    MPI_Comm_free(&passing);
    CHECK(passing == MPI_COMM_NULL);
    MPI_Waitall(2, requests, statuses);
    CHECK_STATUS(&statuses[0], previous, 1, bytes);
    VERIFY(in, (size_t)bytes, seed_of(previous, round));
    free(out);
    free(in);
  }
}

static void many_at_the_same_time(void) {
  enum { total = 60 };
  MPI_Comm all[total];
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  int in[total], out[total];
  MPI_Request requests[2 * total];
  for (int i = 0; i < total; ++i) {
    if (i % 3 == 2) {
      MPI_Comm_split(MPI_COMM_WORLD, 0, my_rank, &all[i]);
    } else {
      MPI_Comm_dup(i % 3 ? all[i - 1] : MPI_COMM_WORLD, &all[i]);
    }
  }
  for (int i = 0; i < total; ++i) {
    out[i] = my_rank * 1000 + i;
    MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : previous, 1, all[i], &requests[i]);
  }
  for (int i = total - 1; i >= 0; --i) MPI_Isend(&out[i], 1, MPI_INT, next, 1, all[i], &requests[total + i]);
  MPI_Waitall(2 * total, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < total; ++i) CHECK_EQUAL(in[i], previous * 1000 + i);
  for (int i = 0; i < total; ++i) MPI_Comm_free(&all[(i * 7) % total]);
}

/* Numbers of contexts are used again; what was sent before must not be confused with what comes after. */
static void made_and_freed_many_times(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  const int rounds = rank_count <= 2 ? 300 : rank_count <= 4 ? 60 : 20;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm passing;
    MPI_Request request;
    int in = -1, out = my_rank * 1000 + round;
    if (round % 2) {
      MPI_Comm_dup(MPI_COMM_WORLD, &passing);
    } else {
      MPI_Comm_split(MPI_COMM_WORLD, 0, my_rank, &passing);
    }
    MPI_Isend(&out, 1, MPI_INT, next, 1, passing, &request);
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, passing, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&passing);
    wrong += in != previous * 1000 + round;
  }
  CHECK_EQUAL(wrong, 0);
}

/* Attributes are copied and deleted by the functions of their key. */
static int copies, deletions;
static int copy_attribute(MPI_Comm from, int key, void* extra, void* value, void* made, int* keep) {
  (void)from, (void)key;
  copies += *(int*)extra;
  *(void**)made = (char*)value + 1;
  *keep = 1;
  return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm of, int key, void* value, void* extra) {
  (void)of, (void)key, (void)value;
  deletions += *(int*)extra;
  return MPI_SUCCESS;
}
static void attributes(void) {
  static int step = 1;
  static char values[10];
  int key = MPI_KEYVAL_INVALID, there = 0;
  char* found = NULL;
  MPI_Comm first, second, third;
  copies = deletions = 0;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &step);
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_set_attr(first, key, values);
  MPI_Comm_dup(first, &second);
  MPI_Comm_get_attr(second, key, &found, &there);
  CHECK_EQUAL(there, 1);
  CHECK(found == values + 1);
  MPI_Comm_split(second, 0, 0, &third);
  MPI_Comm_get_attr(third, key, &found, &there);
  CHECK_EQUAL(there, 0);
  CHECK_EQUAL(copies, 1);
  MPI_Comm_delete_attr(first, key);
  CHECK_EQUAL(deletions, 1);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&first);
  MPI_Comm_free(&third);
  CHECK_EQUAL(deletions, 1);
  MPI_Comm_free(&second);
  CHECK_EQUAL(deletions, 2);
}

static int refuses_deletion;
static int delete_or_refuse(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  return refuses_deletion ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* A delete function of one rank refuses: its communicator stays, and messages still come through on it. */
static void freed_in_vain_on_one_rank(void) {
  MPI_Comm copy = MPI_COMM_NULL;
  int key = MPI_KEYVAL_INVALID, value = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  /* The error of a delete function goes to the handler of MPI_COMM_WORLD in one library, of `copy` in the other. */
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_or_refuse, &key, NULL);
  if (my_rank == 0) {
    MPI_Comm_set_attr(copy, key, &value);
    refuses_deletion = 1;
    MPI_Comm handle = copy;
    CHECK(MPI_Comm_free(&handle) != MPI_SUCCESS);
    refuses_deletion = 0;
    value = 42;
    for (int rank = 1; rank < rank_count; ++rank) MPI_Send(&value, 1, MPI_INT, rank, 7, copy);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 7, copy, MPI_STATUS_IGNORE);
    CHECK_EQUAL(value, 42);
  }
  MPI_Comm_free_keyval(&key);
  CHECK_EQUAL(MPI_Comm_free(&copy), MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
}

const struct conformance_case communicator_cases[] = {
    {"contexts_are_apart", 1, contexts_are_apart},
    {"wildcards_stay_in_their_communicator", 1, wildcards_stay_in_their_communicator},
    {"split_by_colour_and_key", 3, split_by_colour_and_key},
    {"splits_of_splits", 1, splits_of_splits},
    {"made_from_groups", 2, made_from_groups},
    {"duplicated_without_waiting", 1, duplicated_without_waiting},
    {"duplicated_and_asked_for", 1, duplicated_and_asked_for},
    {"duplicated_with_info_and_name", 1, duplicated_with_info_and_name},
    {"cartesian_grids", 1, cartesian_grids},
    {"graph_with_neighbours", 1, graph_with_neighbours},
    {"between_two_groups", 2, between_two_groups},
    {"ranks_that_share_memory", 1, ranks_that_share_memory},
    {"alone", 1, alone},
    {"freed_while_messages_are_pending", 1, freed_while_messages_are_pending},
    {"many_at_the_same_time", 1, many_at_the_same_time},
    {"made_and_freed_many_times", 1, made_and_freed_many_times},
    {"attributes", 1, attributes},
    {NULL, 0, NULL},
};

const struct conformance_case refusal_cases[] = {
    {"freed_in_vain_on_one_rank", 2, freed_in_vain_on_one_rank},
    {NULL, 0, NULL},
};
