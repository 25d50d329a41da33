// A program that forks with a large heap, run with the user heap loaded before it. The verb says what the child does.
// It ends with 0, or with the line of the first thing that was not as it should be, and prints how its forks were
// served.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

extern char** environ;

namespace {

#define CHECK(condition)                                                                             \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      std::fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      _exit(1);                                                                                      \
    }                                                                                                \
  } while (false)

constexpr std::size_t mib = std::size_t{1} << 20;

char static_array[4 * mib];  // in the window as well
std::vector<char> large;
std::map<int, std::string> tree;

std::uint64_t ask(const char* name) {
  auto* const found = reinterpret_cast<std::uint64_t (*)()>(dlsym(RTLD_DEFAULT, name));
  return found == nullptr ? 0 : found();
}

int status_of(pid_t child) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void fill_heap() {
  large.assign(300 * mib, 'p');
  for (int index = 0; index < 20000; ++index) tree[index] = "value " + std::to_string(index);
  std::memset(static_array, 'p', sizeof(static_array));
}

// Address space for what the child needs, but none for a copy: as memory of which nothing is left, but for everybody.
void leave_no_room_for_a_copy() {
  std::ifstream status("/proc/self/status");
  std::string name;
  std::size_t kib = 0;
  while (status >> name && name != "VmSize:") {
  }
  status >> kib;
  const rlimit limit{(kib << 10) + 100 * mib, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

// The arguments of the program lie in the heap and are changed as soon as fork has returned in the parent.
void begin_programs(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::string> words{"/bin/sh", "-c", "test \"$0\" = \"a word of the heap\"", "a word of the heap"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      delete new std::string(1000, 'c');
      large[300 * mib - 1] = 'c';
      execv(arguments[0], arguments.data());
      _exit(9);
    }
    for (std::string& word : words) word.assign(word.size(), 'x');
    arguments.assign(arguments.size(), nullptr);
    CHECK(status_of(child) == 0);
    CHECK(large[300 * mib - 1] == 'p');
  }
}

// What shares memory with its parent, or leaves it, needs nothing of anybody.
void begin_programs_otherwise() {
  CHECK(std::system("exit 3") == 3 << 8);
  std::FILE* const stream = popen("echo hello", "r");
  char line[16] = {};
  CHECK(std::fgets(line, sizeof(line), stream) != nullptr && std::strcmp(line, "hello\n") == 0);
  CHECK(pclose(stream) == 0);
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("exit 4"), nullptr};
  pid_t child = 0;
  CHECK(posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environ) == 0);
  CHECK(status_of(child) == 4);
  child = vfork();
  if (child == 0) {
    execv("/bin/sh", arguments);
    _exit(9);
  }
  CHECK(status_of(child) == 4);
}

// The child uses the heap in all ways; `whole`: it must see all of it as it was at the fork.
void use_heap_in_child(bool whole) {
  CHECK(ask("heap_test_phase") == 3);
  if (whole) {
    CHECK(tree.size() == 20000 && tree[777] == "value 777" && large[5] == 'p' && static_array[5] == 'p');
    for (auto& [key, text] : tree) text += " changed in the child, and long enough to be allocated anew";
  }
  std::memset(large.data() + 50 * mib, 'c', mib);
  std::memset(static_array + mib, 'c', mib);
  std::vector<char*> blocks;
  for (std::size_t index = 0; index < 20000; ++index) {
    blocks.push_back(static_cast<char*>(std::malloc(index % 3000 + 1)));
    std::memset(blocks.back(), static_cast<int>(index), index % 3000 + 1);
  }
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    CHECK(blocks[index][0] == static_cast<char>(index) && blocks[index][index % 3000] == static_cast<char>(index));
    if (index % 2 == 0) std::free(blocks[index]);
  }
  for (int round = 0; round < 3; ++round) {
    auto* const zeros = static_cast<char*>(std::calloc(1, 20 * mib));
    for (std::size_t at = 0; at < 20 * mib; ++at) CHECK(zeros[at] == 0);
    std::memset(zeros, 'z', 20 * mib);
    std::free(zeros);
  }
  const pid_t grandchild = fork();
  CHECK(grandchild >= 0);
  if (grandchild == 0) {
    CHECK(large[50 * mib] == 'c' && static_array[mib] == 'c');
    std::memset(large.data() + 50 * mib, 'g', mib);
    delete new std::string(1000, 'g');
    std::exit(5);
  }
  CHECK(status_of(grandchild) == 5);
  CHECK(large[50 * mib] == 'c' && ask("heap_test_valid") == 1);
}

void live_on(bool whole) {
  std::vector<char*> blocks;
  for (std::size_t index = 0; index < 20000; ++index) blocks.push_back(static_cast<char*>(std::malloc(index % 3000)));
  for (std::size_t index = 0; index < blocks.size(); index += 2) std::free(blocks[index]);
  auto* const hole = static_cast<char*>(std::calloc(1, 64 * mib));
  std::memset(hole, 'p', 64 * mib);
  std::free(hole);
  int gate[2];
  CHECK(pipe(gate) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    char byte = 0;
    CHECK(read(gate[0], &byte, 1) == 1);  // the parent has gone on and changed things
    use_heap_in_child(whole);
    std::exit(7);  // with all destructors
  }
  // Free blocks, which are linked through their memory, as well as those in use.
  for (std::size_t index = 0; index < blocks.size(); index += 2)
    blocks[index] = static_cast<char*>(std::malloc(index % 3000));
  for (std::size_t index = 0; index < blocks.size(); ++index) std::memset(blocks[index], 0x55, index % 3000);
  auto* const zeros = static_cast<char*>(std::calloc(1, 40 * mib));
  std::memset(zeros, 'q', 40 * mib);
  large[5] = static_array[5] = 'q';
  tree[777] = "of the parent";
  CHECK(write(gate[1], "x", 1) == 1);
  CHECK(status_of(child) == 7);
  CHECK(large[5] == 'q' && large[50 * mib] == 'p' && static_array[mib] == 'p' && static_array[5] == 'q');
  CHECK(tree[777] == "of the parent" && tree[778] == "value 778" && zeros[20 * mib] == 'q' && blocks[1999][7] == 0x55);
  CHECK(ask("heap_test_phase") == 2 && ask("heap_test_valid") == 1);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string verb = count > 1 ? arguments[1] : "";
  const bool no_room = count > 2 && std::string(arguments[2]) == "no_room";
  fill_heap();
  if (no_room) leave_no_room_for_a_copy();
  if (verb == "begin_programs")
    begin_programs(count > 2 && !no_room ? std::atoi(arguments[2]) : 20);
  else if (verb == "begin_programs_otherwise")
    begin_programs_otherwise();
  else if (verb == "live_on")
    live_on(count == 2);
  else
    return 3;
  std::printf("%llu copies, %llu views\n", static_cast<unsigned long long>(ask("heap_test_fork_copies")),
              static_cast<unsigned long long>(ask("heap_test_fork_views")));
  return 0;
}
