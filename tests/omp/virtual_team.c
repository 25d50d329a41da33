/* What threads of a team do together, in one program built by gcc: static loops, barriers inside loops, single,
   sections, critical, locks, ordered, tasks, nested regions, the functions of the interface. It checks itself and
   prints results that depend on nothing, so that runs on real and on virtual threads can be compared. */
#include <fenv.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 4096 };
static int failures = 0;

static void check(int good, const char* what, int line) {
  if (good) return;
  printf("line %d: %s\n", line, what);
  __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

static int seen[most];

static void numbers(void) {
  const int max = omp_get_max_threads();
  CHECK(omp_get_thread_num() == 0 && omp_get_num_threads() == 1 && !omp_in_parallel() && omp_get_level() == 0);
  CHECK(omp_get_num_procs() >= 1 && omp_get_thread_limit() >= max);
  memset(seen, 0, sizeof seen);
#pragma omp parallel
  {
    CHECK(omp_get_num_threads() == max && omp_in_parallel() == (max > 1) && omp_get_level() == 1);
    CHECK(omp_get_max_threads() == max && omp_get_ancestor_thread_num(1) == omp_get_thread_num());
    CHECK(omp_get_team_size(1) == max && omp_get_team_size(0) == 1 && omp_get_ancestor_thread_num(0) == 0);
    CHECK(omp_get_team_size(2) == -1 && omp_get_ancestor_thread_num(2) == -1 && omp_get_team_size(-1) == -1);
    ++seen[omp_get_thread_num()];
#pragma omp barrier
    for (int i = 0; i < max; ++i) CHECK(seen[i] == 1);
    if (omp_get_thread_num() == 0) omp_set_num_threads(7); /* of this task only */
  }
  CHECK(omp_get_max_threads() == max || omp_get_max_threads() == 7); /* libgomp: the first thread's task is the same */
  omp_set_num_threads(max);
  CHECK(omp_get_max_threads() == max);
  for (int want = 1; want <= 9; want += 2) {
    int got = 0;
#pragma omp parallel num_threads(want)
    {
#pragma omp atomic
      ++got;
      CHECK(omp_get_num_threads() == want);
    }
    CHECK(got == want);
    omp_set_num_threads(want);
    got = 0;
#pragma omp parallel reduction(+ : got)
    got += omp_get_num_threads();
    CHECK(got == want * want);
  }
  omp_set_num_threads(max);
#pragma omp parallel if (0)
  CHECK(omp_get_num_threads() == 1 && omp_get_level() == 1 && !omp_in_parallel());
  printf("numbers\n");
}

static void static_loops(void) {
  enum { length = 100003 };
  static int owner[length];
  long sum = 0;
#pragma omp parallel
  {
#pragma omp for schedule(static) reduction(+ : sum)
    for (int i = 0; i < length; ++i) {
      sum += i;
      owner[i] = omp_get_thread_num();
    }
    /* The same split again: a thread finds what it wrote, without a barrier in between. */
#pragma omp for schedule(static) nowait
    for (int i = 0; i < length; ++i) owner[i] -= omp_get_thread_num();
#pragma omp for schedule(static) nowait
    for (int i = 0; i < length; ++i) owner[i] += 1;
  }
  int wrong = 0;
#pragma omp parallel for schedule(static, 13) reduction(+ : wrong)
  for (int i = 0; i < length; ++i) wrong += owner[i] != 1;
  CHECK(wrong == 0);
  unsigned char last = 0;
#pragma omp parallel for lastprivate(last)
  for (int i = 0; i < 1000; ++i) last = (unsigned char)i;
  printf("static loops: %ld %d %d\n", sum, wrong, last);
}

static void barriers(void) {
  static long values[2][most];
  const int max = omp_get_max_threads();
  memset(values, 0, sizeof values);
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    const int next = (me + 1) % max;
    values[0][me] = me;
    for (int round = 0; round < 60; ++round) {
#pragma omp barrier
      values[(round + 1) % 2][me] = values[round % 2][next] + 1;
    }
  }
  for (int i = 0; i < max; ++i) CHECK(values[0][i] == (i + 60) % max + 60);
  printf("barriers\n");
}

static void singles(void) {
  int singles = 0, nowaits = 0, masters = 0, copied = 0;
#pragma omp parallel
  {
    int value = -1;
    for (int round = 0; round < 40; ++round) {
#pragma omp single
      ++singles;
#pragma omp single nowait
      {
#pragma omp atomic
        ++nowaits;
      }
#pragma omp master
      ++masters;
#pragma omp single copyprivate(value)
      value = round * round;
#pragma omp atomic
      copied += value == round * round;
    }
  }
  CHECK(copied == 40 * omp_get_max_threads());
  printf("single: %d %d %d\n", singles, nowaits, masters);
}

static void sections(void) {
  int mask = 0, last = 0, few = 0;
#pragma omp parallel
  {
    for (int round = 0; round < 10; ++round) {
#pragma omp sections nowait
      {
#pragma omp section
        {
#pragma omp atomic
          ++few;
        }
#pragma omp section
        {
#pragma omp atomic
          few += 10;
        }
      }
    }
#pragma omp sections lastprivate(last)
    {
#pragma omp section
      {
#pragma omp atomic
        mask |= 1;
        last = 1;
      }
#pragma omp section
      {
#pragma omp atomic
        mask |= 2;
        last = 2;
      }
#pragma omp section
      {
#pragma omp atomic
        mask |= 4;
        last = 3;
      }
    }
    CHECK(mask == 7 && last == 3);
  }
#pragma omp parallel sections
  {
#pragma omp section
    {
#pragma omp atomic
      mask += 8;
    }
#pragma omp section
    {
#pragma omp atomic
      mask += 16;
    }
  }
  printf("sections: %d %d %d\n", mask, last, few);
}

static void critical_sections(void) {
  long unnamed = 0, named = 0;
  long double atomic = 0;
  int rounds = 0;
#pragma omp parallel
  for (int round = 0; round < 200; ++round) {
#pragma omp critical
    {
      ++unnamed;
#pragma omp critical(inner)
      ++named;
    }
#pragma omp critical(inner)
    ++named;
#pragma omp atomic
    atomic += 1;
#pragma omp atomic
    ++rounds;
  }
  CHECK(unnamed == 200L * omp_get_max_threads() && named == 2 * unnamed && rounds == unnamed);
  CHECK(atomic == (long double)unnamed);
  printf("critical\n");
}

static void locks(void) {
  omp_lock_t lock, held;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_lock(&held);
  omp_init_nest_lock(&nest);
  long count = 0, nested = 0, after = 0;
  CHECK(omp_test_lock(&lock) && !omp_test_lock(&lock));
  omp_unset_lock(&lock);
#pragma omp parallel
  {
    for (int round = 0; round < 100; ++round) {
      if (round % 3 == 0) {
        while (!omp_test_lock(&lock)) {
#pragma omp taskyield
        }
      } else {
        omp_set_lock(&lock);
      }
      ++count;
      omp_unset_lock(&lock);
      omp_set_nest_lock(&nest);
      omp_set_nest_lock(&nest);
      CHECK(omp_test_nest_lock(&nest) == 3);
      ++nested;
      omp_unset_nest_lock(&nest);
      omp_unset_nest_lock(&nest);
      omp_unset_nest_lock(&nest);
    }
    /* One holds a lock across a barrier, the others wait for it behind. */
    if (omp_get_thread_num() == 0) omp_set_lock(&held);
#pragma omp barrier
    if (omp_get_thread_num() == 0) {
      ++after;
      omp_unset_lock(&held);
    } else {
      omp_set_lock(&held);
      ++after;
      omp_unset_lock(&held);
    }
  }
  /* The first only tries; the last gives back what was taken outside. */
  omp_set_lock(&held);
#pragma omp parallel
  {
    if (omp_get_thread_num() == omp_get_num_threads() - 1) omp_unset_lock(&held);
    if (omp_get_thread_num() == 0) {
      while (!omp_test_lock(&held)) continue;
      omp_unset_lock(&held);
    }
  }
  CHECK(count == 100L * omp_get_max_threads() && nested == count && after == omp_get_max_threads());
  omp_destroy_lock(&lock);
  omp_destroy_lock(&held);
  omp_destroy_nest_lock(&nest);
  printf("locks\n");
}

static void ordered_loops(void) {
  char text[200];
  int length;
#define ORDERED(clause, condition)                             \
  length = 0;                                                  \
  _Pragma(clause) for (int i = 0; i < 26; ++i) {               \
    volatile int work = 0;                                     \
    for (int j = 0; j < (i * 7919) % 1000; ++j) work += j;     \
    if (condition) {                                           \
      _Pragma("omp ordered") text[length++] = (char)('a' + i); \
    }                                                          \
  }                                                            \
  text[length] = 0;                                            \
  printf("%s ", text);
  ORDERED("omp parallel for ordered schedule(static)", 1)
  ORDERED("omp parallel for ordered schedule(static, 3)", 1)
  ORDERED("omp parallel for ordered schedule(dynamic)", 1)
  ORDERED("omp parallel for ordered schedule(dynamic, 4)", i % 3 != 0)
  ORDERED("omp parallel for ordered schedule(guided)", i % 2)
  ORDERED("omp parallel for ordered schedule(runtime)", 1)
  /* Two loops that overlap, each in its own order. */
  char falling[8] = "", rising[8] = "";
  int fallen = 0, risen = 0;
#pragma omp parallel
  {
#pragma omp for ordered schedule(static, 1) nowait
    for (unsigned long long i = 20; i > 10; i -= 2) {
#pragma omp ordered
      falling[fallen++] = (char)('a' + i);
    }
#pragma omp for ordered schedule(dynamic, 2)
    for (unsigned long long i = 3; i < 9; ++i) {
#pragma omp ordered
      rising[risen++] = (char)('A' + i);
    }
  }
  printf("%s %s ", falling, rising);
  printf("ordered\n");
}

static long fibonacci(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}
static long chain_end = 0;
static void chain(int length) {
#pragma omp task firstprivate(length)
  {
    char room[64];
    memset(room, length & 1, sizeof room);
    if (length > 0)
      chain(length - 1);
    else
      chain_end += room[0];
#pragma omp atomic
    ++chain_end;
  }
#pragma omp taskwait
}

static void tasks(void) {
  long fib = 0, ordered_by_dependence = 1, pieces = 0, iterations = 0, finals = 0;
#pragma omp parallel
#pragma omp single
  {
    fib = fibonacci(15);
    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(inout : ordered_by_dependence)
      ordered_by_dependence = ordered_by_dependence * 3 + i;
    }
#pragma omp taskwait
#pragma omp taskgroup
    {
#pragma omp task shared(pieces)
      pieces += 1;
    }
    CHECK(pieces == 1);
#pragma omp taskloop grainsize(10)
    for (int i = 100; i > 0; i -= 2) {
#pragma omp atomic
      iterations += i;
    }
#pragma omp taskloop num_tasks(5)
    for (unsigned long long i = 0; i < 17; ++i) {
#pragma omp atomic
      iterations += (long)i;
    }
#pragma omp task final(1) shared(finals)
    {
#pragma omp task shared(finals)
      finals += omp_in_final();
#pragma omp taskwait
      finals += omp_in_final();
    }
#pragma omp taskwait
    CHECK(!omp_in_final());
  }
  printf("tasks: %ld %ld %ld %ld\n", fib, ordered_by_dependence, iterations, finals);
}

static void deep_tasks(void) {
#pragma omp parallel
#pragma omp single
  chain(10000);
  printf("deep tasks: %ld\n", chain_end);
}

static void nested(void) {
  long sum = 0;
  omp_set_max_active_levels(4);
#pragma omp parallel num_threads(3) reduction(+ : sum)
  {
    const int me = omp_get_thread_num();
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
      CHECK(omp_get_level() == 2 && omp_get_ancestor_thread_num(1) == me && omp_get_team_size(1) == 3);
      CHECK(omp_get_ancestor_thread_num(2) == omp_get_thread_num() && omp_get_team_size(2) == omp_get_num_threads());
#pragma omp for
      for (int i = 0; i < 50; ++i) sum += i;
#pragma omp single
      sum += 1000;
#pragma omp barrier
#pragma omp for schedule(dynamic, 3)
      for (int i = 0; i < 50; ++i) sum += i;
#pragma omp critical
      ++sum;
      sum -= omp_get_num_threads() == 2 && omp_get_thread_num() == 1; /* the critical section counts threads */
    }
#pragma omp barrier
    CHECK(omp_get_level() == 1 && omp_get_thread_num() == me);
#pragma omp for ordered
    for (int i = 0; i < 6; ++i) {
#pragma omp ordered
      sum += i;
    }
  }
  printf("nested: %ld\n", sum);
}

static void mixed_loops(void) {
  static int counts[5000];
  memset(counts, 0, sizeof counts);
  long last = 0;
#pragma omp parallel
  for (int round = 0; round < 10; ++round) {
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 5000; ++i) __atomic_fetch_add(&counts[i], 1, __ATOMIC_RELAXED);
#pragma omp for schedule(guided, 4) lastprivate(last)
    for (int i = 0; i < 5000; ++i) {
      __atomic_fetch_add(&counts[i], 1, __ATOMIC_RELAXED);
      last = i;
    }
#pragma omp single nowait
    counts[0] += 0;
#pragma omp for schedule(runtime) nowait
    for (long i = 4999; i >= 0; --i) __atomic_fetch_add(&counts[i], 1, __ATOMIC_RELAXED);
#pragma omp for schedule(static, 5)
    for (int i = 0; i < 5000; ++i) __atomic_fetch_add(&counts[i], 1, __ATOMIC_RELAXED);
  }
  for (int i = 0; i < 5000; ++i) CHECK(counts[i] == 40);
  printf("mixed loops: %ld\n", last);
}

/* Threads keep their rounding while they wait; those that begin have that of the first. */
static volatile double one = 1.0;
static void rounding(void) {
  int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
    const int own = omp_get_thread_num() % 2 ? FE_UPWARD : FE_DOWNWARD;
    wrong += fegetround() != FE_TONEAREST;
    fesetround(own);
    for (int round = 0; round < 5; ++round) {
#pragma omp barrier
      wrong += fegetround() != own;
      const double third = one / 3;
      wrong += (own == FE_UPWARD) != (third > 0.333333333333333314);
#pragma omp critical
      wrong += fegetround() != own;
    }
    fesetround(FE_TONEAREST);
  }
  printf("rounding: %d\n", wrong);
}

static void room_on_the_stack(void) {
  long sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    volatile char room[2 << 20];
    for (size_t i = 0; i < sizeof room; i += 4096) room[i] = 1;
#pragma omp barrier
    for (size_t i = 0; i < sizeof room; i += 4096) sum += room[i];
  }
  CHECK(sum == 512L * omp_get_max_threads());
  printf("stacks\n");
}

int main(void) {
  numbers();
  for (int round = 0; round < 3; ++round) {
    static_loops();
    barriers();
    singles();
    sections();
    critical_sections();
    locks();
    ordered_loops();
    tasks();
    nested();
    mixed_loops();
    rounding();
    room_on_the_stack();
  }
  deep_tasks();
  printf("%d failures\n", failures);
  return failures != 0;
}
