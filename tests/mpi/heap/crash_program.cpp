// A program with a large and mostly empty heap and a sparse static array, run with the user heap loaded before it. It
// crashes in the way that the verb names. It prints how much memory the heap's file has before, and a shell that has
// the file open prints it again when the kernel has written the core dump.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern char** environ;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
char sparse[512 * mib];

template <typename Result>
Result ask(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) _exit(2);
  return reinterpret_cast<Result (*)()>(found)();
}

// A word that only memory has, not the file of the program.
void mark(char* place, const char* which) {
  std::strcpy(place, which);
  std::strcat(place, " is in the core dump");
}

void of_the_program(int) {
  static const char line[] = "the program's own handler\n";
  if (write(STDOUT_FILENO, line, sizeof(line) - 1) < 0) _exit(3);
  std::signal(SIGSEGV, SIG_DFL);
}

void watch_file() {
  int gate[2];
  if (pipe2(gate, O_CLOEXEC) != 0) _exit(4);
  const int file = dup(ask<int>("heap_test_file"));
  struct stat status {};
  if (fstat(file, &status) != 0) _exit(6);
  std::printf("%ld blocks\n", static_cast<long>(status.st_blocks));
  std::fflush(stdout);
  const std::string script = "cat; stat -L -c '%b blocks' /proc/self/fd/" + std::to_string(file);
  char shell[] = "sh";
  char option[] = "-c";
  char* const arguments[] = {shell, option, const_cast<char*>(script.c_str()), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, gate[0], STDIN_FILENO);
  pid_t shell_process = 0;
  if (posix_spawnp(&shell_process, "sh", &actions, nullptr, arguments, environ) != 0) _exit(5);
  posix_spawn_file_actions_destroy(&actions);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string verb = count > 1 ? arguments[1] : "";
  if (verb == "handler") std::signal(SIGSEGV, &of_the_program);
  ask<void>("heap_test_keep_core_dumps_small");
  // Freed and given back, and used again for something small; and much that was never touched.
  auto* const first = static_cast<char*>(std::malloc(200 * mib));
  std::memset(first, 1, 200 * mib);
  auto* const behind = static_cast<char*>(std::malloc(mib));
  std::free(first);
  ask<void>("heap_test_trim");
  mark(behind, "the second block");
  auto* const large = static_cast<char*>(std::malloc(3000 * mib));
  mark(large + 1500 * mib, "the middle of the large block");
  mark(static_cast<char*>(std::malloc(100)), "the small block");
  mark(sparse + 300 * mib, "the static array");
  watch_file();
  if (verb == "abort") std::abort();
  if (verb == "quit") std::raise(SIGQUIT);
  volatile int* volatile nowhere = nullptr;  // the compiler must not know
  *nowhere = 1;
  return 0;
}
