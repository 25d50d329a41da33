/* What a program or its user asks for by the standard's own means for loops with schedule(runtime) is kept. `set`: asked
   for by omp_set_schedule, otherwise OMP_SCHEDULE says the same from outside. The second argument is what was asked for:
   static, static,N or dynamic,N. Loops in the program's own code (static) must agree with them, too. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { count = 10007 };
static int first[count], second[count], written[count], whose[count];

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* comma = strchr(argv[2], ',');
  const int chunk = comma != NULL ? atoi(comma + 1) : 0;
  const int is_static = strncmp(argv[2], "static", 6) == 0;
  if (strcmp(argv[1], "set") == 0) omp_set_schedule(is_static ? omp_sched_static : omp_sched_dynamic, chunk);
  long wrong = 0, split = 0;
  for (int round = 1; round <= 100; ++round) {
#pragma omp parallel
    {
      const int me = omp_get_thread_num();
#pragma omp for schedule(runtime) nowait
      for (int i = 0; i < count; ++i) {
        first[i] = i + round;
        whose[i] = me;
        if (i < 10)
          for (volatile int k = 0; k < 20000; ++k) continue;
      }
      if (is_static) {
#pragma omp for schedule(runtime) nowait
        for (int i = 0; i < count; ++i) second[i] = first[i] * 2;
        if (chunk == 0) {
#pragma omp for schedule(static)
          for (int i = 0; i < count; ++i) written[i] = second[i] + 1;
        } else {
#pragma omp for schedule(static, chunk)
          for (int i = 0; i < count; ++i) written[i] = second[i] + 1;
        }
      }
    }
    for (int i = 0; is_static && i < count; ++i) wrong += written[i] != 2 * (i + round) + 1;
    for (int i = 0; i < count; ++i) split += chunk > 0 && whose[i] != whose[i - i % chunk];
  }
  printf("wrong %ld, split chunks %ld\n", wrong, split);
  return 0;
}
