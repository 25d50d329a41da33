/* A process that forks before it uses OpenMP, and both halves then do; and one that starts another program. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int sum_of_loop(int n) {
  int sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}

int main(void) {
  const pid_t child = fork();
  if (child == 0) exit(sum_of_loop(10) == 45 && sum_of_loop(20) == 190 ? 7 : 8);
  int status = 0;
  waitpid(child, &status, 0);
  const int shell = system("exit 3");
  printf("parent %d, child %d, shell %d\n", sum_of_loop(100), WEXITSTATUS(status), WEXITSTATUS(shell));
  return 0;
}
