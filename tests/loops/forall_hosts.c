/* One loop body for threads of two kinds (K75): those of OpenMP and those of pthreads, in C, under every sort of
 * schedule. Products are added element by element, so every order of iterations gives the same bits; a body that runs
 * twice or never does not. Nobody waits for anybody between loops, and the same iteration of two loops may run in two
 * threads at once: so each loop has a row of its own. Exits with 1 and a line when they differ. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trireme/forall.h"

enum { threads = 3, longest = 1000, steps = 30 };

struct problem {
  tri_team* team;
  const char* schedule;
  long count;
  double a[longest], b[longest], c[steps][longest];
};

/* What every thread does, whoever started it. Lengths change, and empty loops are among them. */
static int steps_of(struct problem* all, int number) {
  for (int step = 0; step < steps; ++step) {
    const long count = all->count * step / (steps - 1);
    long start, end;
    TRI_FORALL_BEGIN(all->team, all->schedule, 0, count, start, end, number)
    for (long i = start; i < end; ++i) all->c[step][i] += all->a[i] * all->b[i];
    TRI_FORALL_END(all->team, start, end, number)
    if (tri_forall_next(all->team, &start, &end, number) != 0) return 1; /* it is in no loop any more */
  }
  return 0;
}

static void prepare(struct problem* all, const char* schedule, long count) {
  all->team = tri_team_create(threads);
  all->schedule = schedule;
  all->count = count;
  for (long i = 0; i < longest; ++i) {
    all->a[i] = 1.0 / (double)(i + 1);
    all->b[i] = (double)(i % 17) - 8.5;
  }
  memset(all->c, 0, sizeof all->c);
}

struct start {
  struct problem* all;
  int number, fault;
};
static void* pthread_start(void* argument) {
  struct start* const mine = argument;
  mine->fault = steps_of(mine->all, mine->number);
  return NULL;
}

static struct problem expected, by_pthreads, by_openmp;

int main(void) {
  const char* const schedules[] = {"automatic", "static", "static,3",      "dynamic,4",     "guided", "hybrid,0.5",
                                   "hybrid,0",  "sds,0",  "staggered,0.9", "tasklets,0.25", "combo"};
  int fault = 0;
  for (unsigned which = 0; which < sizeof schedules / sizeof *schedules; ++which) {
    for (long count = 0; count <= longest; count = count * 31 + 1) {
      prepare(&expected, schedules[which], count);
      for (int step = 0; step < steps; ++step)
        for (long i = 0; i < count * step / (steps - 1); ++i) expected.c[step][i] += expected.a[i] * expected.b[i];

      prepare(&by_pthreads, schedules[which], count);
      pthread_t handles[threads];
      struct start starts[threads];
      for (int number = 0; number < threads; ++number) {
        starts[number] = (struct start){&by_pthreads, number, 0};
        if (pthread_create(&handles[number], NULL, pthread_start, &starts[number]) != 0) return 2;
      }
      for (int number = 0; number < threads; ++number) {
        pthread_join(handles[number], NULL);
        fault |= starts[number].fault;
      }

      prepare(&by_openmp, schedules[which], count);
#pragma omp parallel num_threads(threads) reduction(| : fault)
      {
        if (omp_get_num_threads() != threads) abort();
        fault |= steps_of(&by_openmp, omp_get_thread_num());
      }

      if (fault != 0 || memcmp(expected.c, by_pthreads.c, sizeof expected.c) != 0 ||
          memcmp(expected.c, by_openmp.c, sizeof expected.c) != 0) {
        fprintf(stderr, "%s, %ld iterations: pthreads %s, OpenMP %s, calls %s\n", schedules[which], count,
                memcmp(expected.c, by_pthreads.c, sizeof expected.c) != 0 ? "differ" : "agree",
                memcmp(expected.c, by_openmp.c, sizeof expected.c) != 0 ? "differ" : "agree",
                fault != 0 ? "wrong" : "right");
        return 1;
      }
      tri_team_destroy(expected.team);
      tri_team_destroy(by_pthreads.team);
      tri_team_destroy(by_openmp.team);
    }
  }
  puts("identical");
  return 0;
}
