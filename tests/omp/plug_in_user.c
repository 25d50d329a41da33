/* Knows nothing of OpenMP; loads the libraries that it is given. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  for (int each = 1; each < argc; ++each) {
    void* const library = dlopen(argv[each], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    int (*const sum)(int) = (int (*)(int))dlsym(library, "plugged_sum");
    const int many = sum(1000), few = sum(10);
    printf("%d %d\n", many, few);
    void (*const work)(void) = (void (*)(void))dlsym(library, "plugged_work");
    if (work != NULL) {
      work();
      printf("%d\n", sum(0));
    }
  }
  return 0;
}
