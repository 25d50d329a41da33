/* Every kind of loop that OpenMP has, each checked against what a serial loop would do: every iteration exactly once.
   Built by gcc and clang, run alone and under the drop-in; its output depends on neither, nor on the number of threads
   (but libomp 16 by itself fails with lastprivate, now and then: its stealing threads run the last iteration first). The last line says how
   many loops it ran that the drop-in takes, and how many it leaves alone: the report of the drop-in must say the same. */
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 20000
static int hits[MOST];
static int failures = 0;
static long taken = 0;
static long left = 0;

static void add(long* counter, long value) { __atomic_fetch_add(counter, value, __ATOMIC_RELAXED); }
static void hit(uint64_t iteration) {
  if (iteration < MOST) {
    __atomic_fetch_add(&hits[iteration], 1, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
  }
}
/* Counts a loop of the team that calls this; every thread calls it before the loop. */
static void count_loop(long* counter) {
  if (omp_get_thread_num() == 0) add(counter, 1);
}

/* Iterations 0 .. count - 1 were hit `times` times each, and no others. */
static void verify_times(const char* name, uint64_t count, int times) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < MOST; ++i) wrong += hits[i] != (i < count ? times : 0);
  memset(hits, 0, sizeof hits);
  printf("%s: %llu iterations, %llu wrong\n", name, (unsigned long long)count, (unsigned long long)wrong);
  if (wrong > 0) ++failures;
}
static void verify(const char* name, uint64_t count) { verify_times(name, count, 1); }
static void verify_that(const char* name, int holds) {
  printf("%s: %s\n", name, holds ? "holds" : "FAILS");
  if (!holds) ++failures;
}
static void delay(long turns) {
  for (volatile long i = 0; i < turns; ++i) {
  }
}

/* clang does not even call its runtime for a loop without iterations. */
static int reaches_runtime(int n) {
#ifdef __clang__
  return n > 0;
#else
  (void)n;
  return 1;
#endif
}

static void combined(int n) {
#define COMBINED(clause)                               \
  taken += reaches_runtime(n);                         \
  _Pragma(clause) for (int i = 0; i < n; ++i) hit((uint64_t)i); \
  verify(clause, (uint64_t)(n > 0 ? n : 0));
  COMBINED("omp parallel for schedule(dynamic)")
  COMBINED("omp parallel for schedule(dynamic, 7)")
  COMBINED("omp parallel for schedule(guided)")
  COMBINED("omp parallel for schedule(guided, 5)")
  COMBINED("omp parallel for schedule(runtime)")
  COMBINED("omp parallel for schedule(nonmonotonic:dynamic)")
  COMBINED("omp parallel for schedule(monotonic:dynamic)")
  COMBINED("omp parallel for schedule(monotonic:dynamic, 4)")
  COMBINED("omp parallel for schedule(monotonic:guided)")
  COMBINED("omp parallel for schedule(monotonic:runtime)")
  COMBINED("omp parallel for schedule(nonmonotonic:runtime)")
  COMBINED("omp parallel for schedule(nonmonotonic:guided, 3)")
}

static void orphaned(int n, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (reaches_runtime(n)) count_loop(&taken);
#pragma omp for schedule(dynamic, 2) nowait
    for (long i = 0; i < n; ++i) {
      hit((uint64_t)i);
      if (omp_get_thread_num() == round % 3) delay(200);
    }
    if (reaches_runtime(n)) count_loop(&taken);
#pragma omp for schedule(guided) nowait
    for (long i = n; i > 0; --i) hit((uint64_t)(i - 1));
    if (reaches_runtime(n)) count_loop(&taken);
#pragma omp for schedule(runtime) nowait
    for (unsigned i = 0; i < (unsigned)n; ++i) hit(i);
  }
}

static void bounds(void) {
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (int i = 100; i > -100; i -= 7) hit((uint64_t)((100 - i) / 7));
  }
  verify("down by 7", 29);
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic, 3)
    for (int i = INT_MIN; i <= INT_MIN + 999; ++i) hit((uint64_t)((long)i - INT_MIN));
  }
  verify("from the least int", 1000);
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(guided)
    for (int i = INT_MAX - 1000; i < INT_MAX; ++i) hit((uint64_t)((long)INT_MAX - 1 - i));
  }
  verify("to the greatest int", 1000);
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (long i = LONG_MAX - 1000; i < LONG_MAX; ++i) hit((uint64_t)(LONG_MAX - 1 - i));
  }
  verify("to the greatest long", 1000);
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(runtime)
    for (long i = LONG_MIN + 1000; i > LONG_MIN; --i) hit((uint64_t)(LONG_MIN + 1000 - i));
  }
  verify("down to the least long", 1000);
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic, 3)
    for (unsigned long long i = ULLONG_MAX - 999; i < ULLONG_MAX; ++i) hit(i - (ULLONG_MAX - 999));
  }
  verify("to the greatest unsigned long long", 999);
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(guided, 2)
    for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 7000; i += 7) hit((i - (1ull << 63)) / 7);
  }
  verify("unsigned by 7 from 2^63", 1000);
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(runtime)
    for (unsigned long long i = ULLONG_MAX; i > ULLONG_MAX - 1000; i -= 3) hit((ULLONG_MAX - i) / 3);
  }
  verify("unsigned down by 3", 334);
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (unsigned char i = 0; i < 255; ++i) hit(i);
  }
  verify("unsigned char", 255);
}

static void last_private(int n) {
  int last = -1;
  long square = -1;
  taken += 2;
#pragma omp parallel for schedule(dynamic) lastprivate(last)
  for (int i = 0; i < n; ++i) {
    last = i;
    if (i == n - 1) delay(20000); /* others steal meanwhile */
  }
#pragma omp parallel for schedule(guided, 2) lastprivate(square)
  for (int i = n; i > 0; i -= 2) square = (long)i * i;
  verify_that("lastprivate has the last value", last == n - 1 && square == (n % 2 == 0 ? 4 : 1));
}

static void reductions(int n) {
  long sum = 0;
  double product = 1;
  int greatest = -1;
  taken += 1;
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : sum) reduction(* : product) reduction(max : greatest)
  for (int i = 0; i < n; ++i) {
    sum += i;
    product *= i % 2 == 0 ? 2 : 0.5;
    greatest = i > greatest ? i : greatest;
  }
  verify_that("reductions", sum == (long)n * (n - 1) / 2 && greatest == n - 1 && product == (n % 2 == 0 ? 1 : 2));
}

static void collapsed(void) {
  taken += 2;
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int i = 0; i < 30; ++i)
    for (int j = 0; j < 40; ++j) hit((uint64_t)(i * 40 + j));
  verify("collapse(2)", 1200);
#pragma omp parallel for collapse(3) schedule(guided)
  for (int i = 0; i < 7; ++i)
    for (int j = 10; j > 0; --j)
      for (int k = 0; k < 20; k += 2) hit((uint64_t)((i * 10 + (10 - j)) * 10 + k / 2));
  verify("collapse(3)", 700);
}

/* Within a thread, monotonic loops never go back. */
static void rising(int n) {
  int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
    int before = -1;
    count_loop(&taken);
#pragma omp for schedule(monotonic:dynamic, 2)
    for (int i = 0; i < n; ++i) {
      wrong += i <= before;
      before = i;
      if (omp_get_thread_num() == 0) delay(500);
    }
    before = n;
    count_loop(&taken);
#pragma omp for schedule(monotonic:guided)
    for (int i = n - 1; i >= 0; --i) {
      wrong += i >= before;
      before = i;
    }
  }
  verify_that("monotonic loops rise", wrong == 0);
}

/* Pieces are whole chunks of the program. */
static void whole_chunks(void) {
  int wrong = 0;
  int owner[1003];
  taken += 1;
#pragma omp parallel for schedule(dynamic, 8)
  for (int i = 0; i < 1003; ++i) owner[i] = omp_get_thread_num();
  for (int i = 0; i < 1003; ++i) wrong += owner[i] != owner[i / 8 * 8];
  verify_that("a chunk is run by one thread", wrong == 0);
}

static void nested(void) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 10; ++i) {
#pragma omp parallel num_threads(3)
      {
        count_loop(&taken);
#pragma omp for schedule(dynamic, 2)
        for (int j = 0; j < 50; ++j) hit((uint64_t)(i * 50 + j));
        count_loop(&taken);
#pragma omp for schedule(guided) nowait
        for (int j = 0; j < 50; ++j) hit((uint64_t)(i * 50 + j));
      }
    }
    count_loop(&taken);
#pragma omp for schedule(guided)
    for (int i = 0; i < 500; ++i) hit((uint64_t)i);
  }
  verify_times("nested regions", 500, 3);
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; ++i) {
      add(&taken, 1);
#pragma omp parallel for schedule(dynamic)
      for (int j = 0; j < 50; ++j) hit((uint64_t)(i * 50 + j));
    }
  }
  verify("nested regions of one thread", 500);
}

/* A region that does not run in parallel, inside a loop that does. libgomp starts a team of one, libomp none. */
static void serialized(void) {
  const int never = omp_get_max_threads() < 0;
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; ++i) {
#ifdef __clang__
      add(&left, 1);
#else
      add(&taken, 1);
#endif
#pragma omp parallel for schedule(dynamic) if (never)
      for (int j = 0; j < 50; ++j) hit((uint64_t)(i * 50 + j));
    }
  }
  verify("if(0) inside a loop", 500);
}

static void team_sizes(void) {
  for (int round = 0; round < 600; ++round) {
#pragma omp parallel num_threads(1 + round % 5)
    {
      count_loop(&taken);
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < 17; ++i) hit((uint64_t)i);
    }
  }
  verify_times("teams of changing size", 17, 600);
}

/* libomp 16 itself stops with an assertion (kmp_dispatch.cpp, steal_flag) when a nonmonotonic loop is cancelled. */
#ifdef __clang__
#define CANCELLED_LOOP "omp for schedule(monotonic:dynamic)"
#else
#define CANCELLED_LOOP "omp for schedule(dynamic)"
#endif
static void cancelled(void) {
  int wrong = 0;
  for (int round = 0; round < 20; ++round) {
#pragma omp parallel
    {
      count_loop(&taken);
      _Pragma(CANCELLED_LOOP)
      for (int i = 0; i < 1000; ++i) {
        hit((uint64_t)i);
        if (i == 30) {
#pragma omp cancel for
        }
#pragma omp cancellation point for
      }
    }
    for (int i = 0; i < 1000; ++i) wrong += hits[i] > 1;
    wrong += !omp_get_cancellation() ? 0 : hits[30] != 1;
    memset(hits, 0, sizeof hits);
#pragma omp parallel
    {
      count_loop(&taken);
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 100; ++i) hit((uint64_t)i);
    }
    for (int i = 0; i < 100; ++i) wrong += hits[i] != 1;
    memset(hits, 0, sizeof hits);
  }
  verify_that("a cancelled loop ends and the next one is complete", wrong == 0);
}

static void left_alone(void) {
  long order = 0;
  int wrong = 0;
#pragma omp parallel
  {
    count_loop(&left);
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < 100; ++i) {
      hit((uint64_t)i);
#pragma omp ordered
      {
        wrong += order != i;
        ++order;
      }
    }
  }
  verify("ordered", 100);
  verify_that("ordered regions run in order", wrong == 0 && order == 100);
  static int ready[101];
  ready[0] = 1;
#pragma omp parallel
  {
    count_loop(&left);
#pragma omp for ordered(1) schedule(dynamic)
    for (int i = 1; i <= 100; ++i) {
#pragma omp ordered depend(sink : i - 1)
      ready[i] = ready[i - 1] + 1;
#pragma omp ordered depend(source)
    }
  }
  verify_that("doacross", ready[100] == 101);
  /* Static loops stay as they are: the same iterations on the same thread, twice. */
  static int owner[1000];
  wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
#pragma omp for schedule(static) nowait
    for (int i = 0; i < 1000; ++i) owner[i] = omp_get_thread_num();
#pragma omp for schedule(static)
    for (int i = 0; i < 1000; ++i) wrong += owner[i] != omp_get_thread_num();
  }
  verify_that("static loops agree", wrong == 0);
}

static void outside(void) {
  left += 1;
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 100; ++i) hit((uint64_t)i);
  verify("outside of any region", 100);
}

static void with_tasks(void) {
#pragma omp parallel
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 200; ++i) {
#pragma omp task firstprivate(i)
      hit((uint64_t)i);
    }
#pragma omp sections
    {
#pragma omp section
      hit(200);
#pragma omp section
      hit(201);
    }
#pragma omp single
    hit(202);
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (int i = 203; i < 300; ++i) hit((uint64_t)i);
  }
  verify("tasks, sections and single between loops", 300);
#pragma omp parallel
#pragma omp single
  for (int t = 0; t < 4; ++t) {
#pragma omp task firstprivate(t)
    {
      add(&taken, 1);
#pragma omp parallel for schedule(dynamic) num_threads(2)
      for (int i = 0; i < 50; ++i) hit((uint64_t)(t * 50 + i));
    }
  }
  verify("regions inside tasks", 200);
}

static void native_teams(void) {
  taken += 2; /* one loop in each team */
#pragma omp teams num_teams(2) thread_limit(2)
  {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 100; ++i) hit((uint64_t)(omp_get_team_num() * 100 + i));
    if (omp_get_num_teams() != 2) add(&left, 1000);
  }
  verify("loops in teams", 200);
}

/* Regions of several plain threads at once, through the same call sites. */
static void* plain_thread(void* unused) {
  (void)unused;
  for (int round = 0; round < 50; ++round) {
#pragma omp parallel num_threads(2)
    {
      count_loop(&taken);
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < 100; ++i) hit((uint64_t)i);
    }
  }
  return NULL;
}
static void plain_threads(void) {
  pthread_t threads[3];
  for (int t = 0; t < 3; ++t) pthread_create(&threads[t], NULL, plain_thread, NULL);
  for (int t = 0; t < 3; ++t) pthread_join(threads[t], NULL);
  verify_times("regions of several threads at once", 100, 150);
}

static void many_arguments(void) {
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, k = 9, l = 10, m = 11, n = 12, o = 13, p = 14, q = 15,
      r = 16, s = 17, t = 18;
  long sum = 0;
  taken += 1;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum) firstprivate(a, c, e)
  for (int i = 0; i < 100; ++i) sum += a + b + c + d + e + f + g + h + k + l + m + n + o + p + q + r + s + t;
  verify_that("eighteen shared variables", sum == 17100);
}

static void automatic_kind(void) {
#pragma omp parallel
  {
#ifdef __clang__
    count_loop(&taken); /* gcc compiles it into the program */
#endif
#pragma omp for schedule(auto)
    for (int i = 0; i < 100; ++i) hit((uint64_t)i);
  }
  verify("auto", 100);
}

int main(void) {
  static const int sizes[] = {0, 1, 2, 7, 1000, 10007};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) combined(sizes[s]);
  combined(-5);
#pragma omp parallel
  orphaned(500, 30);
  verify_times("thirty times three loops without barriers", 500, 90);
#pragma omp parallel
  {
    orphaned(3, 100);
#pragma omp barrier
    orphaned(0, 5);
  }
  verify_times("short ones", 3, 300);
  bounds();
  last_private(1000);
  last_private(7);
  last_private(1);
  reductions(1000);
  collapsed();
  rising(2000);
  whole_chunks();
  nested();
  serialized();
  team_sizes();
  cancelled();
  left_alone();
  outside();
  with_tasks();
  native_teams();
  plain_threads();
  many_arguments();
  automatic_kind();
  printf("%s\n", failures == 0 ? "all well" : "FAILED");
  fprintf(stderr, "expected: loops intercepted %ld, passed through to the OpenMP runtime %ld\n", taken, left);
  return failures == 0 ? 0 : 1;
}
