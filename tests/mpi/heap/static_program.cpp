// A program with static data of all kinds, run with the user heap loaded before it: what lies where, what peers would
// see, and forks.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

namespace {

#define CHECK(condition)                                                                             \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      std::fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      _exit(1);                                                                                      \
    }                                                                                                \
  } while (false)

constexpr std::size_t mib = std::size_t{1} << 20;

// No constants: the compiler must believe that anybody may change them.
char zeros[4 * mib];
char sparse[1024 * mib];
char initialised[mib] = {1};
int small_number = 5;
int small_zero;
const char constant[mib] = {7};

void* alias(const void* address, std::size_t bytes) {
  using function = void*(const void*, std::size_t);
  static auto* const found = reinterpret_cast<function*>(dlsym(RTLD_DEFAULT, "heap_test_shared_address"));
  CHECK(found != nullptr);
  return found(address, bytes);
}
long ask(const char* name) {
  auto* const found = reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, name));
  CHECK(found != nullptr);
  return found();
}

// The dynamic linker and constructors have written here before the heap was started, or will: nothing is lost either
// way.
struct before_main {
  before_main() {
    zeros[17] = 17;
    small_zero = 3;
  }
} const constructed;

std::size_t resident_kib() {
  std::FILE* const status = std::fopen("/proc/self/status", "r");
  char line[256];
  std::size_t kib = 0;
  while (std::fgets(line, sizeof(line), status) != nullptr) std::sscanf(line, "VmRSS: %zu", &kib);
  std::fclose(status);
  return kib;
}

void look() {
  CHECK(resident_kib() < 20 * 1024);                             // 1 GiB of sparse array stay sparse
  CHECK(ask("heap_test_in_use") < 20 * static_cast<long>(mib));  // and count to no limit
  CHECK(zeros[17] == 17 && zeros[18] == 0 && small_number == 5 && small_zero == 3 && initialised[0] == 1 &&
        constant[0] == 7);
  auto* const other = static_cast<char*>(alias(zeros + 100, sizeof(zeros) - 200));
  CHECK(other != nullptr && other != zeros + 100);
  CHECK(other[17 - 100] == 17);
  zeros[5000] = 50;
  CHECK(other[5000 - 100] == 50);
  other[6000 - 100] = 60;
  CHECK(zeros[6000] == 60);
  auto* const end = static_cast<char*>(alias(sparse + sizeof(sparse) - mib, mib / 2));
  CHECK(end != nullptr);
  end[5] = 9;
  CHECK(sparse[sizeof(sparse) - mib + 5] == 9);
  CHECK(alias(constant, 1) == nullptr && alias(initialised, 1) == nullptr);
  CHECK(alias(sparse, sizeof(sparse) + 64 * mib) == nullptr);
  const int on_stack = 0;
  CHECK(alias(&on_stack, 4) == nullptr);
  void* const block = std::malloc(100);
  CHECK(alias(block, 100) == block);
  std::free(block);
  CHECK(ask("heap_test_check_static_data") == 1);
}

// Streams of the C and C++ libraries are copies in the program (copy relocations) in programs at fixed addresses.
void library_variables() {
  std::cout << "one " << std::flush;
  std::fprintf(stdout, "two ");
  std::fflush(stdout);
  setenv("HEAP_STATIC_TEST", "three", 1);
  std::cout << getenv("HEAP_STATIC_TEST") << std::endl;
}

void forks() {
  sparse[512 * mib] = 'p';
  zeros[9000] = 'p';
  for (int round = 0; round < 3; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      CHECK(zeros[9000] == 'p' && sparse[512 * mib] == 'p' && sparse[513 * mib] == 0 && zeros[17] == 17 &&
            small_zero == 3);
      CHECK(alias(zeros + 100, 8) == nullptr || ask("heap_test_phase") == 3);
      zeros[9000] = 'c';
      zeros[17] = 'c';
      std::memset(sparse + 512 * mib, 'c', mib);
      small_zero = 4;
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        CHECK(zeros[9000] == 'c');
        zeros[9000] = 'g';
        _exit(6);
      }
      int status = 0;
      CHECK(waitpid(grandchild, &status, 0) == grandchild && WEXITSTATUS(status) == 6);
      CHECK(zeros[9000] == 'c');
      std::exit(5);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    CHECK(zeros[9000] == 'p' && zeros[17] == 17 && sparse[512 * mib] == 'p' && sparse[512 * mib + 1] == 0 &&
          small_zero == 3);
  }
}

// A program that maps something else over its data is noticed.
void remapped() {
  auto* const page = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(sparse) + mib) & ~std::uintptr_t{4095});
  CHECK(mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
  CHECK(alias(zeros + 100, 8) != nullptr);
  CHECK(ask("heap_test_check_static_data") == 0);
  CHECK(alias(zeros + 100, 8) == nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string verb = count > 1 ? arguments[1] : "";
  if (verb == "private") {
    CHECK(alias(zeros + 100, 8) == nullptr);
    return 0;
  }
  look();
  library_variables();
  forks();
  remapped();
  return 0;
}
