/* Static loops of one region that rely on the same iterations being on the same thread, as OpenMP promises since 3.0.
   "wrong" counts iterations that came to another thread, or values that did. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define COUNT 1003
#define FEWER 500
#define THREAD omp_get_thread_num()

static int owner[COUNT];
static long values[COUNT];
static long kept[COUNT];
#pragma omp threadprivate(kept)
static int wrong;

static void note_wrong(void) {
#pragma omp atomic
  wrong++;
}

static void mark(int me) {
#pragma omp for schedule(static)
  for (int i = 0; i < COUNT; i++) owner[i] = me;
}

static void check(int me) {
#pragma omp for schedule(static)
  for (int i = 0; i < COUNT; i++)
    if (owner[i] != me) note_wrong();
}

static void begin_values(int factor) {
#pragma omp for schedule(static) nowait
  for (int i = 0; i < COUNT; i++) {
    values[i] = i * factor;
    if (i < 3)
      for (volatile int k = 0; k < 20000; k++) continue;
  }
}

static void report(const char *name) {
  printf("%s: %d wrong\n", name, wrong);
  wrong = 0;
}

int main(void) {
  for (int round = 0; round < 20; round++) {
#pragma omp parallel
    {
      int me = omp_get_thread_num();
#pragma omp for schedule(static)
      for (int i = 0; i < COUNT; i++) owner[i] = me;
#pragma omp for schedule(static) reduction(+ : wrong)
      for (int i = 0; i < COUNT; i++) wrong += owner[i] != me;
    }
  }
  report("thread numbers and a barrier");

  for (int round = 0; round < 20; round++) {
#pragma omp parallel
    {
#pragma omp for
      for (int i = 0; i < COUNT; i++) owner[i] = THREAD;
#pragma omp barrier
#pragma omp for
      for (int i = 0; i < COUNT; i++)
        if (owner[i] != THREAD) note_wrong();
    }
  }
  report("thread numbers behind a macro");

  for (int round = 1; round < 20; round++) {
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (int i = 0; i < COUNT; i++) kept[i] = i * round;
#pragma omp for schedule(static) reduction(+ : wrong)
      for (int i = 0; i < COUNT; i++) wrong += kept[i] != i * round;
    }
  }
  report("threadprivate data");

  for (int round = 0; round < 20; round++) {
#pragma omp parallel
    {
      long own[COUNT];
      memset(own, 0, sizeof(own));
      for (int turn = 0; turn < 5; turn++) {
#pragma omp for schedule(static) reduction(+ : wrong)
        for (int i = 0; i < COUNT; i++) wrong += own[i]++ != turn;
      }
    }
  }
  report("one loop several times");

  for (int round = 0; round < 20; round++) {
#pragma omp parallel
    {
      mark(omp_get_thread_num());
      check(omp_get_thread_num());
    }
  }
  report("loops of two functions");

  for (int round = 1; round < 20; round++) {
#pragma omp parallel
    {
      begin_values(round);
#pragma omp for schedule(static) reduction(+ : wrong)
      for (int i = 0; i < COUNT; i++) wrong += values[i] != i * round;
    }
  }
  report("nowait in a function");

  for (int round = 0; round < 20; round++) {
    memset(values, 0, sizeof(values));
#pragma omp parallel
    {
      for (int turn = 0; turn < 5; turn++) {
#pragma omp for schedule(static) reduction(+ : wrong)
        for (int i = 0; i < COUNT; i++) wrong += values[i] != turn;
#pragma omp for schedule(static) nowait
        for (int i = 0; i < COUNT; i++) values[i]++;
      }
    }
  }
  report("nowait in the last turn");

  /* May be changed: bounds that differ promise nothing, a sum of a single loop needs nothing, a variable that each
     iteration sets before it is read keeps nothing. */
  long sum = 0, all = 0;
#pragma omp parallel
  {
    int me = omp_get_thread_num();
#pragma omp for schedule(static)
    for (int i = 0; i < COUNT; i++) owner[i] = me;
#pragma omp for schedule(static) reduction(+ : sum)
    for (int i = 0; i < FEWER; i++) sum += owner[i] - me + (me - owner[i]) + i;
  }
#pragma omp parallel
  {
    long part = 0, square;
#pragma omp for schedule(static)
    for (int i = 0; i < COUNT; i++) part += i;
#pragma omp atomic
    all += part;
#pragma omp for schedule(static)
    for (int i = 0; i < COUNT; i++) {
      square = (long)i * i;
      values[i] = square % 7;
    }
#pragma omp for schedule(static)
    for (int i = 0; i < COUNT; i++) {
      square = values[i];
      values[i] = square * square;
    }
  }
  for (int i = 0; i < COUNT; i++) sum += values[i];
  printf("%ld %ld\n", sum, all);
  return 0;
}
