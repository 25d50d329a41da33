#include <stdio.h>
int MPI_Init(int* count, char*** arguments);
int main(void) {
  printf("its MPI says %d\n", MPI_Init(NULL, NULL));
  return 0;
}
