/* An OpenMP library that a program without OpenMP loads late and privately, as interpreters do with their modules. */
int plugged_sum(int n);
int plugged_sum(int n) {
  int sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
