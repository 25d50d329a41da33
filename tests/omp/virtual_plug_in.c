/* An OpenMP library that is loaded late and privately, beside one of another runtime, and asks its own runtime about
   its team. Returns how many threads of three got right answers. (plug_in_user.c knows it by this name.) */
#include <omp.h>

int plugged_sum(int n);
int plugged_sum(int n) {
  int right = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
  {
    const int good = n > 0 && omp_get_num_threads() == 3 && omp_get_level() == 1 && omp_in_parallel() &&
                     omp_get_ancestor_thread_num(1) == omp_get_thread_num();
    omp_set_lock(&lock);
    const int before = right;
    omp_unset_lock(&lock);
#pragma omp atomic
    right += good && before <= 3; /* behind the call: whom it returns to says which runtime is meant */
  }
  omp_destroy_lock(&lock);
  return right - 100 * omp_get_num_threads() + 100;
}
