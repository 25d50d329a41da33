/* Loops whose iterations wait for each other, as programs with hand-made synchronisation have them: they end whenever each
   thread that asks for more gets what no thread has begun, as under both native runtimes. A loop that hangs is ended by the
   alarm. Run with at least as many threads as `parties`. */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static int begun, handed;

static void wait_for(int* word, int value) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) sched_yield();
}

int main(void) {
  alarm(120);
  int parties = omp_get_max_threads();
  for (int round = 0; round < 200; ++round) {
    /* As many iterations as threads, none of which ends before all have begun: each thread must get one. */
    begun = 0;
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < parties; ++i) {
      __atomic_fetch_add(&begun, 1, __ATOMIC_ACQ_REL);
      wait_for(&begun, parties);
    }
    begun = 0;
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < parties; ++i) {
      __atomic_fetch_add(&begun, 1, __ATOMIC_ACQ_REL);
      wait_for(&begun, parties);
    }
    if (parties == 1) continue;
    /* Each pair: a consumer that comes first, and its producer. */
    handed = 0;
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < 6; ++i) {
      if (i % 2 == 0)
        wait_for(&handed, i / 2 + 1);
      else
        __atomic_fetch_add(&handed, 1, __ATOMIC_ACQ_REL);
    }
    /* The first of many waits for the last. */
    handed = 0;
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < 1000; ++i) {
      if (i == 0) wait_for(&handed, 1);
      if (i == 999) __atomic_fetch_add(&handed, 1, __ATOMIC_ACQ_REL);
    }
  }
  printf("all loops ended\n");
  return 0;
}
