/* Loops in every spelling that C has. What it prints does not depend on schedule or threads. */
#include <stdio.h>

#define COUNT 1000
#define REDUCTION reduction(+ : sum)
#define KIND static
#define AS_DYNAMIC schedule(dynamic)
#define DIRECTIVE(x) _Pragma(#x)
#define DIRECTIVE_WITH(x) DIRECTIVE(omp parallel for x)
#define PARALLEL_LOOP _Pragma("omp parallel for")

static long values[COUNT];
static long table[40][50];

static void print(const char *name) {
  long sum = 0;
  for (int i = 0; i < COUNT; i++) sum = sum * 31 % 1000003 + values[i];
  for (int i = 0; i < 40; i++)
    for (int j = 0; j < 50; j++) sum = sum * 31 % 1000003 + table[i][j];
  printf("%s %ld\n", name, sum); /* "#pragma omp for" is only text here */
}

int main(void) {
  long sum = 0;
#pragma omp parallel for
  for (int i = 0; i < COUNT; i++) values[i] = i;
  print("parallel for");

#pragma omp parallel for \
    REDUCTION /* over
                 several lines */ schedule(KIND)
  for (int i = 0; i < COUNT; i++) sum += values[i];
  printf("sum %ld\n", sum);

#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < COUNT; i++) values[i] += 1;
#pragma omp for nowait schedule(static)
    for (int i = 0; i < COUNT; i++) values[i] *= 3;
#pragma omp for schedule(static) // the same iterations on the same threads as the one before
    for (int i = 0; i < COUNT; i++) values[i] -= 2;
#pragma omp barrier
    DIRECTIVE(omp for simd)
    for (int i = 0; i < COUNT; i++) values[i] *= 2;
#pragma omp for AS_DYNAMIC
    for (int i = 0; i < COUNT; i++) values[i] -= 1;
#pragma omp for schedule(static, 7)
    for (int i = COUNT - 1; i >= 0; i--) values[i] += i % 7;
  }
  print("parallel");

#pragma omp parallel for collapse(2)
  for (int i = 0; i < 40; i++)
    for (int j = 0; j < 50; j++) table[i][j] = i * j;
#pragma omp parallel for collapse(2)
  for (int i = 0; i < 40; i++)
    for (int j = i; j < 50; j++) table[i][j] += j;
  print("collapse");

  long last = 0;
  DIRECTIVE_WITH(firstprivate(last))
  for (int i = 0; i < COUNT; i++) values[i] += 7 + last;
  PARALLEL_LOOP
  for (int i = 0; i < COUNT; i++) values[i] ^= i;
#pragma omp parallel for lastprivate(last) ordered
  for (int i = 0; i < COUNT; i++) {
    last = values[i];
#pragma omp ordered
    sum = sum * 31 % 1000003 + last;
  }
  print("last");
  printf("ordered %ld %ld\n", sum, last);

#if 0
#pragma omp parallel for
  this is not compiled
#elif defined(_OPENMP)
#pragma omp parallel for if (COUNT > 1) schedule(static)
#endif
  for (int i = 0; i < COUNT; i++) values[i] += 5;
  print("conditional");
  return 0;
}
