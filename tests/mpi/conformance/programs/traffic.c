/* Random traffic: every pair of ranks has a stream of messages in both directions, whose sizes, tags, datatypes and
   ways of sending both sides know from the seed. Receivers post their receives in an order of their own within a
   window, with wildcards where only one message can be meant; the sums of what arrived are compared with what the
   streams contain.

     traffic [--messages M] [--seed S] [--largest BYTES] [--expected RANKS]

   M messages are sent by each rank. One line is printed, the same in every run with these numbers; --expected prints
   what it must be with so many ranks, without MPI. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { window = 24 }; /* messages of a stream between two meetings of its ends */

static int my_rank, rank_count;
static uint64_t seed = 1;
static long messages = 20000, largest = 200000;

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static void* allocate(size_t bytes) {
  void* const memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  return memory;
}

/* What both ends know of message `number` from one rank to another. */
struct message {
  uint64_t key;
  int bytes;
  int tag;
  int spread_out; /* the sender has gaps between the bytes: pieces of 8 of 24 */
  int spread_in;
  int way; /* of sending */
};
enum { by_send, by_isend, by_issend, by_ibsend, by_persistent, send_ways };

static struct message message_of(int from, int to, long number) {
  struct message made;
  made.key = mix(seed ^ mix(((uint64_t)from << 52) ^ ((uint64_t)to << 40) ^ (uint64_t)number));
  const uint64_t kind = made.key % 100, draw = made.key >> 8;
  const uint64_t limit = kind < 60 ? 64 : kind < 85 ? 2000 : kind < 97 ? 20000 : (uint64_t)largest;
  made.bytes = (int)(draw % ((limit < (uint64_t)largest ? limit : (uint64_t)largest) + 1));
  /* Within a window each message has a tag of its own, so that receives may be posted in any order. */
  made.tag = (int)(number % window);
  made.spread_out = (made.key >> 40) % 4 == 0;
  made.spread_in = (made.key >> 42) % 4 == 0;
  if (made.spread_out || made.spread_in) made.bytes -= made.bytes % 8;
  made.way = (int)((made.key >> 44) % send_ways);
  if (made.way == by_ibsend && made.bytes > 20000) made.way = by_isend;
  return made;
}

static uint64_t word_of(const struct message* of, size_t place) { return (of->key + place) * 0x9e3779b97f4a7c15u; }
static uint64_t sum_of(const struct message* of) {
  uint64_t sum = of->key;
  for (size_t at = 0; at < (size_t)of->bytes; at += 8) {
    uint64_t word = word_of(of, at / 8);
    const size_t left = (size_t)of->bytes - at;
    if (left < 8) word &= (1ull << (8 * left)) - 1;
    sum = mix(sum ^ word);
  }
  return sum;
}
/* Bytes lie together, or in pieces of 8 at distances of 24. */
static size_t room_for(const struct message* of, int spread) {
  return spread ? (size_t)of->bytes * 3 : (size_t)of->bytes;
}
static void write_message(char* buffer, const struct message* of) {
  for (size_t at = 0; at < (size_t)of->bytes; at += 8) {
    const uint64_t word = word_of(of, at / 8);
    const size_t left = (size_t)of->bytes - at;
    memcpy(buffer + (of->spread_out ? at * 3 : at), &word, left < 8 ? left : 8);
  }
}
static uint64_t sum_in(const char* buffer, const struct message* of) {
  uint64_t sum = of->key;
  for (size_t at = 0; at < (size_t)of->bytes; at += 8) {
    uint64_t word = 0;
    const size_t left = (size_t)of->bytes - at;
    memcpy(&word, buffer + (of->spread_in ? at * 3 : at), left < 8 ? left : 8);
    sum = mix(sum ^ word);
  }
  return sum;
}
static MPI_Datatype type_for(const struct message* of, int spread, int* count) {
  MPI_Datatype type = MPI_BYTE;
  *count = of->bytes;
  if (spread) {
    MPI_Type_vector(of->bytes / 8, 8, 24, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    *count = 1;
  }
  return type;
}
static void free_type(MPI_Datatype* type, int spread) {
  if (spread) MPI_Type_free(type);
}

struct slot {
  struct message message;
  char* buffer;
  MPI_Request request;
  int persistent;
};

static void start_send(struct slot* slot, int to) {
  const struct message* const of = &slot->message;
  int count;
  MPI_Datatype type = type_for(of, of->spread_out, &count);
  slot->buffer = allocate(room_for(of, of->spread_out));
  slot->request = MPI_REQUEST_NULL;
  slot->persistent = of->way == by_persistent;
  write_message(slot->buffer, of);
  switch (of->way) {
    case by_send:
      if (of->bytes <= 64) { /* a larger one might wait for its receiver, who might wait for us */
        MPI_Send(slot->buffer, count, type, to, of->tag, MPI_COMM_WORLD);
      } else {
        MPI_Isend(slot->buffer, count, type, to, of->tag, MPI_COMM_WORLD, &slot->request);
      }
      break;
    case by_issend:
      MPI_Issend(slot->buffer, count, type, to, of->tag, MPI_COMM_WORLD, &slot->request);
      break;
    case by_ibsend:
      MPI_Ibsend(slot->buffer, count, type, to, of->tag, MPI_COMM_WORLD, &slot->request);
      break;
    case by_persistent:
      MPI_Send_init(slot->buffer, count, type, to, of->tag, MPI_COMM_WORLD, &slot->request);
      MPI_Start(&slot->request);
      break;
    default:
      MPI_Isend(slot->buffer, count, type, to, of->tag, MPI_COMM_WORLD, &slot->request);
      break;
  }
  free_type(&type, of->spread_out);
}

/* `alone`: no other message of this window has the tag, from whomever, so that the source may be left open. */
static void post_receive(struct slot* slot, int from, int alone) {
  const struct message* const of = &slot->message;
  int count;
  MPI_Datatype type = type_for(of, of->spread_in, &count);
  slot->buffer = allocate(room_for(of, of->spread_in));
  slot->persistent = (of->key >> 50) % 8 == 0;
  const int source = alone && (of->key >> 53) % 2 == 0 ? MPI_ANY_SOURCE : from;
  if (slot->persistent) {
    MPI_Recv_init(slot->buffer, count, type, source, of->tag, MPI_COMM_WORLD, &slot->request);
    MPI_Start(&slot->request);
  } else {
    MPI_Irecv(slot->buffer, count, type, source, of->tag, MPI_COMM_WORLD, &slot->request);
  }
  free_type(&type, of->spread_in);
}

/* Takes a message that was not posted for: probed, then received, perhaps taken out first. */
static void receive_now(struct slot* slot, int from) {
  const struct message* const of = &slot->message;
  int count;
  MPI_Status status;
  MPI_Message taken;
  MPI_Datatype type = type_for(of, of->spread_in, &count);
  slot->buffer = allocate(room_for(of, of->spread_in));
  slot->request = MPI_REQUEST_NULL;
  slot->persistent = 0;
  switch ((of->key >> 56) % 3) {
    case 0:
      MPI_Recv(slot->buffer, count, type, from, of->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 1:
      MPI_Probe(from, of->tag, MPI_COMM_WORLD, &status);
      MPI_Recv(slot->buffer, count, type, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Mprobe(from, of->tag, MPI_COMM_WORLD, &taken, MPI_STATUS_IGNORE);
      MPI_Mrecv(slot->buffer, count, type, &taken, MPI_STATUS_IGNORE);
      break;
  }
  free_type(&type, of->spread_in);
}

static void finish(struct slot* slots, int total, int how) {
  MPI_Request* const requests = allocate((size_t)total * sizeof *requests);
  for (int i = 0; i < total; ++i) requests[i] = slots[i].request;
  if (how % 3 == 0) {
    MPI_Waitall(total, requests, MPI_STATUSES_IGNORE);
  } else if (how % 3 == 1) {
    for (int index = 0; index != MPI_UNDEFINED;) MPI_Waitany(total, requests, &index, MPI_STATUS_IGNORE);
  } else {
    int* const indices = allocate((size_t)total * sizeof *indices);
    for (int count = 0; count != MPI_UNDEFINED;) {
      MPI_Testsome(total, requests, &count, indices, MPI_STATUSES_IGNORE);
      if (count == 0) usleep(10);
    }
    free(indices);
  }
  for (int i = 0; i < total; ++i) {
    if (slots[i].persistent) MPI_Request_free(&requests[i]);
  }
  free(requests);
}

/* One window with all other ranks: number `round` of every stream. */
static uint64_t exchange(long round, uint64_t* expected) {
  const int others = rank_count - 1, total = others * window;
  struct slot* const sends = allocate((size_t)total * sizeof *sends);
  struct slot* const receives = allocate((size_t)total * sizeof *receives);
  /* Receives are posted in a random order, a quarter of them only after our sends, some of those by blocking calls. */
  int* const order = allocate((size_t)total * sizeof *order);
  for (int i = 0; i < total; ++i) order[i] = i;
  for (int i = total - 1; i > 0; --i) {
    const int other = (int)(mix(seed ^ mix((uint64_t)(round * 1000 + my_rank)) ^ (uint64_t)i) % (uint64_t)(i + 1));
    const int kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (int i = 0; i < total; ++i) {
    const int from = (my_rank + 1 + i / window) % rank_count;
    receives[i].message = message_of(from, my_rank, round * window + i % window);
  }
  for (int i = 0; i < total * 3 / 4; ++i)
    post_receive(&receives[order[i]], (my_rank + 1 + order[i] / window) % rank_count, others == 1);
  for (int i = 0; i < total; ++i) {
    const int at = order[total - 1 - i], to = (my_rank + 1 + at / window) % rank_count;
    sends[at].message = message_of(my_rank, to, round * window + at % window);
    start_send(&sends[at], to);
  }
  for (int i = total * 3 / 4; i < total; ++i)
    receive_now(&receives[order[i]], (my_rank + 1 + order[i] / window) % rank_count);
  finish(receives, total, (int)(round + my_rank));
  finish(sends, total, (int)(round + my_rank + 1));
  uint64_t sum = 0;
  *expected = 0;
  for (int i = 0; i < total; ++i) {
    sum += sum_in(receives[i].buffer, &receives[i].message);
    *expected += sum_of(&receives[i].message);
    free(receives[i].buffer);
    free(sends[i].buffer);
  }
  free(order);
  free(receives);
  free(sends);
  return sum;
}

static void say_where_it_hangs(int number) {
  (void)number;
  static const char text[] = "traffic: no end after the time given by --hang-limit\n";
  const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  _exit(3);
}

/* Windows of every stream, so that each rank sends `messages` or a few more. */
static long windows_of_all(void) {
  const long in_one = (long)(rank_count - 1) * window;
  return (messages + in_one - 1) / in_one;
}
static void print_result(int good, uint64_t sum) {
  printf("traffic/%d_ranks %s (%ld messages, sum %016llx)\n", rank_count, good ? "ok" : "FAILED",
         windows_of_all() * window * (rank_count - 1) * rank_count, (unsigned long long)sum);
}
static uint64_t sum_of_all_streams(void) {
  uint64_t sum = 0;
  for (int from = 0; from < rank_count; ++from) {
    for (int to = 0; to < rank_count; ++to) {
      for (long number = 0; from != to && number < windows_of_all() * window; ++number) {
        const struct message each = message_of(from, to, number);
        sum += sum_of(&each);
      }
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  long hang_limit = 600, expected_of = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const long value = strtol(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--messages") == 0) messages = value;
    if (strcmp(argv[i], "--seed") == 0) seed = (uint64_t)value;
    if (strcmp(argv[i], "--largest") == 0) largest = value;
    if (strcmp(argv[i], "--hang-limit") == 0) hang_limit = value;
    if (strcmp(argv[i], "--expected") == 0) expected_of = value;
  }
  if (expected_of > 1 && messages > 0 && largest >= 64) {
    rank_count = (int)expected_of;
    print_result(1, sum_of_all_streams());
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  if (rank_count < 2 || messages < 1 || largest < 64) {
    fprintf(stderr,
            "usage: traffic [--messages M] [--seed S] [--largest BYTES, 64 or more] [--hang-limit SECONDS] "
            "[--expected RANKS]; 2 or more ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  signal(SIGALRM, say_where_it_hangs);
  alarm((unsigned)hang_limit);
  void* space = NULL;
  int space_bytes = 2 * window * rank_count * (20000 * 2 + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(allocate((size_t)space_bytes), space_bytes);
  const long rounds = windows_of_all();
  uint64_t sums[2] = {0, 0}, all[2] = {0, 0};
  long wrong = 0;
  for (long round = 0; round < rounds; ++round) {
    uint64_t expected = 0;
    const uint64_t sum = exchange(round, &expected);
    if (sum != expected && wrong++ < 5) fprintf(stderr, "rank %d: wrong data in window %ld\n", my_rank, round);
    sums[0] += sum;
    sums[1] += expected;
  }
  MPI_Buffer_detach(&space, &space_bytes);
  free(space);
  MPI_Reduce(sums, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (my_rank == 0) print_result(all[0] == all[1], all[0]);
  MPI_Finalize();
  return wrong != 0;
}
