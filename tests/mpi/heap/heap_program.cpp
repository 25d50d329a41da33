// An ordinary program that is run with the user heap loaded before it; the verb says what it tries. It ends with 0, or
// with the line of the first thing that was not as it should be. `preload.cpp` answers its questions.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern char** environ;
extern "C" void* __libc_malloc(std::size_t);

namespace {

#define CHECK(condition)                                                                             \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      std::fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      _exit(1);                                                                                      \
    }                                                                                                \
  } while (false)

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t gib = std::size_t{1} << 30;

template <typename Function>
Function* probe(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "run with the preload library of this test: no %s\n", name);
    _exit(2);
  }
  return reinterpret_cast<Function*>(found);
}
template <typename Result = std::size_t>
Result ask(const char* name) {
  return probe<Result()>(name)();
}
bool in_window(const void* address, std::size_t bytes = 1) {
  return probe<int(const void*, std::size_t)>("heap_test_in_window")(address, bytes) == 1;
}
// The compiler knows malloc and may leave calls out: so that it does not see where a value comes from.
template <typename Type>
Type opaque(Type value) {
  asm volatile("" : "+r"(value) : : "memory");
  return value;
}

int constructor_result = -1;
[[gnu::constructor]] void before_main() {
  void* const block = opaque(std::malloc(1000));
  constructor_result = in_window(block, 1000) ? 1 : 0;
  std::free(block);
}

void inside() {
  CHECK(constructor_result == 1);
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{24}, std::size_t{32768}, std::size_t{32769}, mib, 40 * mib}) {
    void* const block = opaque(std::malloc(bytes));
    CHECK(block != nullptr && in_window(block, bytes));
    CHECK(malloc_usable_size(block) >= bytes);
    std::memset(block, 1, bytes);
    std::free(block);
    auto* const zeros = static_cast<char*>(opaque(std::calloc(bytes, 1)));
    CHECK(in_window(zeros, bytes));
    for (std::size_t index = 0; index < bytes; ++index) CHECK(zeros[index] == 0);
    std::free(zeros);
  }
  const std::vector<int> numbers(1000, 1);
  CHECK(in_window(numbers.data(), 4000));
  const auto* const line = new (std::align_val_t(256)) char[100];
  CHECK(in_window(line) && reinterpret_cast<std::uintptr_t>(line) % 256 == 0);
  ::operator delete[](const_cast<char*>(line), std::align_val_t(256));
  std::thread([] {
    void* const block = opaque(std::malloc(100));
    CHECK(in_window(block));
    std::free(block);
  }).join();
  // What the C library allocates for itself stays its own; free() and realloc() know.
  char* text = opaque(strdup("of the C library"));
  CHECK(!in_window(text));
  CHECK(malloc_usable_size(text) >= 17);
  text = static_cast<char*>(std::realloc(text, 5000));
  CHECK(std::strcmp(text, "of the C library") == 0);
  std::free(text);
  std::free(__libc_malloc(100));
  std::free(nullptr);
  errno = 77;
  std::free(opaque(std::malloc(100 * mib)));
  CHECK(errno == 77);
  CHECK(ask<int>("heap_test_valid") == 1);
  CHECK(ask("heap_test_outside") == 0);
}

// Blocks travel from thread to thread and are freed wherever they are; each carries a mark over its whole length.
void threads() {
  constexpr unsigned thread_count = 4, slots = 512, rounds = 60000;
  struct parcel {
    std::uint32_t bytes;
    std::uint8_t mark;
  };
  static std::atomic<parcel*> shelf[slots];
  std::vector<std::thread> workers;
  const auto check_and_free = [](parcel* one) {
    auto* const body = reinterpret_cast<std::uint8_t*>(one);
    for (std::uint32_t index = sizeof(parcel); index < one->bytes; index += 61) CHECK(body[index] == one->mark);
    CHECK(body[one->bytes - 1] == one->mark);
    std::free(one);
  };
  // Twice: the second generation finds what the first one's threads held when they ended.
  for (int generation = 0; generation < 2; ++generation) {
    for (unsigned number = 0; number < thread_count; ++number)
      workers.emplace_back([&, number] {
        std::mt19937 random(number + 1);
        for (unsigned round = 0; round < rounds; ++round) {
          const auto bytes = static_cast<std::uint32_t>(sizeof(parcel) + 1 +
                                                        (random() % 64 == 0 ? random() % 200000 : random() % 2000));
          auto* const fresh = static_cast<parcel*>(std::malloc(bytes));
          CHECK(in_window(fresh, bytes));
          *fresh = {bytes, static_cast<std::uint8_t>(random())};
          std::memset(fresh + 1, fresh->mark, bytes - sizeof(parcel));
          if (parcel* const old = shelf[random() % slots].exchange(fresh, std::memory_order_acq_rel))
            check_and_free(old);
        }
      });
    for (std::thread& worker : workers) worker.join();
    workers.clear();
  }
  for (auto& place : shelf)
    if (parcel* const left = place.exchange(nullptr)) check_and_free(left);
  CHECK(ask<int>("heap_test_valid") == 1);
  // The threads are gone, and so is what they held: what is left are spans with a few blocks of this thread, and one
  // per class.
  CHECK(ask("heap_test_in_use") < 20 * mib);
}

void reallocations() {
  std::mt19937 random(3);
  struct block {
    unsigned char* bytes = nullptr;
    std::size_t size = 0;
    unsigned char mark = 0;
  };
  std::vector<block> blocks(64);
  for (int step = 0; step < 20000; ++step) {
    block& one = blocks[random() % blocks.size()];
    const std::size_t size = 1 + (random() % 8 == 0 ? random() % (4 * mib) : random() % 70000);
    auto* const moved = static_cast<unsigned char*>(std::realloc(one.bytes, size));
    CHECK(moved != nullptr && in_window(moved, size));
    const std::size_t kept = std::min(size, one.size);
    for (std::size_t index = 0; index < kept; index += 509) CHECK(moved[index] == one.mark);
    if (kept > 0) CHECK(moved[kept - 1] == one.mark);
    one = {moved, size, static_cast<unsigned char>(random())};
    std::memset(moved, one.mark, size);
  }
  for (block& one : blocks) std::free(one.bytes);
  // A buffer that grows moves a few times, until it lies where there is room behind it.
  auto* growing = static_cast<char*>(std::malloc(mib));
  const char* place = growing;
  int moves = 0;
  for (std::size_t size = mib; size < 200 * mib; size += mib) {
    growing = static_cast<char*>(std::realloc(growing, size));
    if (growing != place) ++moves;
    place = growing;
  }
  CHECK(moves < 10);
  CHECK(std::realloc(growing, 0) == nullptr);
  CHECK(reallocarray(nullptr, opaque(SIZE_MAX / 2), 3) == nullptr && errno == ENOMEM);
  CHECK(std::calloc(opaque(SIZE_MAX / 2), 3) == nullptr && errno == ENOMEM);
  CHECK(ask<int>("heap_test_valid") == 1);
}

void alignments() {
  std::mt19937 random(5);
  std::vector<void*> blocks;
  for (std::size_t alignment = 8; alignment <= 256 * mib; alignment *= 2)
    for (std::size_t bytes :
         {std::size_t{1}, std::size_t{100}, std::size_t{4096}, std::size_t{20000}, std::size_t{33000}, mib + 1}) {
      void* block = nullptr;
      CHECK(posix_memalign(&block, alignment, bytes) == 0);
      CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0 && in_window(block, bytes));
      std::memset(block, 3, bytes);
      blocks.push_back(block);
      void* const other = opaque(std::aligned_alloc(alignment, bytes));
      CHECK(reinterpret_cast<std::uintptr_t>(other) % alignment == 0 && in_window(other, bytes));
      blocks.push_back(random() % 2 == 0 ? std::realloc(other, bytes + 100) : other);
    }
  for (void* block : blocks) std::free(block);
  void* block = nullptr;
  errno = 5;
  CHECK(posix_memalign(&block, 24, 10) == EINVAL && posix_memalign(&block, 4, 10) == EINVAL && errno == 5);
  CHECK(posix_memalign(&block, 64, SIZE_MAX - 100) == ENOMEM && block == nullptr && errno == 5);
  CHECK(reinterpret_cast<std::uintptr_t>(opaque(memalign(opaque(std::size_t{48}), 10))) % 64 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(opaque(valloc(10))) % 4096 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(opaque(pvalloc(10))) % 4096 == 0 && ask<int>("heap_test_valid") == 1);
}

void touch(char* block, std::size_t bytes, std::size_t step) {
  for (std::size_t index = 0; index < bytes; index += step) block[index] = 1;
}

void huge() {
  auto* const sparse = static_cast<char*>(opaque(std::malloc(5 * gib)));
  CHECK(sparse != nullptr && in_window(sparse, 5 * gib));
  touch(sparse, 5 * gib, 512 * mib);
  auto* const zeros = static_cast<char*>(std::calloc(3, gib));
  CHECK(zeros != nullptr && in_window(zeros, 3 * gib));
  for (std::size_t index = 0; index < 3 * gib; index += 64 * mib) CHECK(zeros[index] == 0);
  std::free(sparse);
  std::free(zeros);
  // 10 GiB in pieces of one, of which a part is used: nothing of it stays.
  for (int piece = 0; piece < 10; ++piece) {
    auto* const block = static_cast<char*>(opaque(std::malloc(gib)));
    CHECK(block != nullptr);
    touch(block, gib, 16 * 4096);
    std::free(block);
    CHECK(ask("heap_test_resident") < 40 * mib);
  }
  // The same with many small blocks.
  std::vector<void*> blocks(200000);
  for (void*& block : blocks) block = std::malloc(1000);
  CHECK(ask("heap_test_resident") < 280 * mib);
  for (void* block : blocks) std::free(block);
  CHECK(ask("heap_test_resident") < 80 * mib);
  probe<void()>("heap_test_trim")();
  CHECK(ask("heap_test_resident") < 20 * mib);
  CHECK(ask<int>("heap_test_valid") == 1);
}

// What this thread holds for itself goes back as well: afterwards pages are resident for blocks in use only.
void trim() {
  probe<void()>("heap_test_trim")();
  const auto before = ask("heap_test_resident");
  const auto in_use = ask("heap_test_in_use");
  std::vector<void*> blocks;
  for (std::size_t bytes = 16; bytes <= 32 * 1024; bytes += bytes / 4) {
    for (int count = 0; count < 3; ++count) {
      blocks.push_back(opaque(std::malloc(bytes)));
      std::memset(blocks.back(), 1, bytes);
    }
  }
  CHECK(ask("heap_test_resident") > before + 300 * 1024);
  for (void* block : blocks) std::free(block);
  blocks = std::vector<void*>();
  CHECK(ask("heap_test_resident") > before + 300 * 1024);  // kept for the next request
  probe<void()>("heap_test_trim")();
  CHECK(ask("heap_test_in_use") <= in_use);
  CHECK(ask("heap_test_resident") <= before);
  CHECK(ask<int>("heap_test_valid") == 1);
  void* const next = std::malloc(1000);
  CHECK(in_window(next, 1000));
  std::free(next);
}

void limits() {
  CHECK(opaque(std::malloc(std::size_t{1} << 46)) == nullptr && errno == ENOMEM);
  CHECK(opaque(std::malloc(opaque(SIZE_MAX))) == nullptr && errno == ENOMEM);
  CHECK(opaque(std::malloc(opaque(std::size_t{PTRDIFF_MAX}))) == nullptr && errno == ENOMEM);
  const rlimit limit{512 * mib, 512 * mib};
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  errno = 0;
  CHECK(opaque(std::malloc(gib)) == nullptr && errno == ENOMEM);
  void* const fits = opaque(std::malloc(100 * mib));
  CHECK(in_window(fits));
  CHECK(std::realloc(fits, gib) == nullptr && errno == ENOMEM);
  // Small blocks end as well, before the limit and not long before.
  std::size_t blocks = 0;
  struct chain {
    chain* next;
  };
  chain* first = nullptr;
  while (true) {
    auto* const block = static_cast<chain*>(std::malloc(30000));
    if (block == nullptr) break;
    block->next = first;
    first = block;
    ++blocks;
    CHECK(blocks < 20000);
  }
  CHECK(errno == ENOMEM && blocks > 300 * mib / 30000);
  while (first != nullptr) {
    chain* const next = first->next;
    std::free(first);
    first = next;
  }
  CHECK(in_window(opaque(std::malloc(100 * mib))));
}

// Run with little address space: when the window is full, the C library serves.
void full() {
  CHECK(ask("heap_test_window_bytes") == 256 * mib);
  std::vector<char*> blocks;
  for (int index = 0; index < 40; ++index) {
    auto* const block = static_cast<char*>(std::malloc(10 * mib));
    CHECK(block != nullptr);
    std::memset(block, index, 10 * mib);
    blocks.push_back(block);
  }
  CHECK(in_window(blocks.front()) && !in_window(blocks.back()));
  CHECK(ask("heap_test_outside") > 10);
  for (int index = 0; index < 40; ++index)
    for (std::size_t byte = 0; byte < 10 * mib; byte += 4096)
      CHECK(blocks[static_cast<std::size_t>(index)][byte] == index);
  for (char* block : blocks) std::free(block);
  void* const again = opaque(std::malloc(50 * mib));
  CHECK(in_window(again));
}

int status_of(pid_t child) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void forks() {
  std::map<int, std::string> tree;
  for (int index = 0; index < 20000; ++index) tree[index] = "value " + std::to_string(index);
  std::vector<char> large(30 * mib, 'p');
  auto* const sparse = static_cast<char*>(opaque(std::malloc(4 * gib)));
  sparse[3 * gib] = 's';
  std::FILE* const stream = std::fopen("/dev/null", "w");
  std::atomic<bool> stop{false};
  // Others allocate, free and write to streams meanwhile.
  std::vector<std::thread> others;
  for (unsigned number = 0; number < 3; ++number)
    others.emplace_back([&, number] {
      std::mt19937 random(number);
      std::vector<void*> mine(100, nullptr);
      while (!stop.load(std::memory_order_relaxed)) {
        void*& one = mine[random() % mine.size()];
        std::free(one);
        one = std::malloc(random() % 50000);
        std::fprintf(stream, "%u", number);
      }
      for (void* one : mine) std::free(one);
    });
  const int file = ask<int>("heap_test_file"), slot_file = ask<int>("heap_test_slot_file");
  for (int round = 0; round < 20; ++round) {
    int gate[2];
    CHECK(pipe(gate) == 0);
    large[5] = 'p';
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      char byte = 0;
      CHECK(read(gate[0], &byte, 1) == 1);  // the parent has gone on and changed things
      CHECK(ask<long>("heap_test_phase") == 3);
      CHECK(fcntl(file, F_GETFD) == -1 && fcntl(slot_file, F_GETFD) == -1);
      CHECK(tree.size() == 20000 && tree[777] == "value 777");
      CHECK(large[5] == 'p' && sparse[3 * gib] == 's' && sparse[gib] == 0);
      for (auto& [key, text] : tree) text += " changed in the child, and long enough to be allocated anew";
      std::fill(large.begin(), large.end(), 'c');
      std::fprintf(stream, "child");
      std::fflush(nullptr);
      for (int index = 0; index < 2000; ++index) std::free(opaque(std::malloc(static_cast<std::size_t>(index) * 50)));
      // A child of the child, by the kernel's own means.
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        CHECK(large[7] == 'c');
        large[7] = 'g';
        tree.clear();
        std::exit(ask<int>("heap_test_valid") == 1 ? 5 : 6);
      }
      CHECK(status_of(grandchild) == 5);
      CHECK(large[7] == 'c' && tree.size() == 20000);
      CHECK(ask<int>("heap_test_valid") == 1);
      std::free(sparse);
      std::exit(7);  // with all destructors and streams
    }
    large[5] = 'q';
    tree[777] = "of the parent";
    CHECK(write(gate[1], "x", 1) == 1);
    CHECK(status_of(child) == 7);
    CHECK(large[5] == 'q' && large[100] == 'p' && tree[777] == "of the parent" && tree[778] == "value 778");
    CHECK(sparse[3 * gib] == 's');
    tree[777] = "value 777";
    close(gate[0]);
    close(gate[1]);
  }
  stop = true;
  for (std::thread& other : others) other.join();
  CHECK(ask<long>("heap_test_phase") == 2 && ask<int>("heap_test_valid") == 1);
  CHECK(ask("heap_test_fork_copies") == 20);
  // Of 4 GiB, the pages that were used were copied.
  CHECK(ask("heap_test_fork_bytes") < 20 * 100 * mib);
}

// What ends in another program copies nothing, except fork and exec.
void spawns() {
  std::vector<char> large(10 * mib, 'p');
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
  CHECK(ask("heap_test_fork_copies") == 0);
  child = fork();
  if (child == 0) {
    execv("/bin/sh", arguments);
    _exit(9);
  }
  CHECK(status_of(child) == 4);
  CHECK(ask("heap_test_fork_copies") == 1);
}

void fork_without_memory() {
  std::vector<char> large(300 * mib, 'p');
  const rlimit limit{400 * mib, 400 * mib};
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  const pid_t child = fork();
  if (child == 0) _exit(large[5] == 'p' ? 0 : 1);
  CHECK(status_of(child) == 127);
}

void invalid_free() { std::free(opaque(static_cast<char*>(opaque(std::malloc(mib))) + 8192)); }
void double_free() {
  void* const block = opaque(std::malloc(mib));
  const auto address = opaque(reinterpret_cast<std::uintptr_t>(block));
  std::free(block);
  std::free(reinterpret_cast<void*>(address));
}

// Only what was handed out is part of core dumps: writing one reads all pages, which fills the holes of a memory file.
void core_dumps() {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool own = false;
  std::vector<bool> dumped;
  while (std::getline(maps, line)) {
    if (line.find("memfd:trireme-heap") != std::string::npos) own = true;
    if (line.starts_with("VmFlags") && own) {
      dumped.push_back(line.find(" dd") == std::string::npos);
      own = false;
    }
  }
  CHECK(dumped.size() == 2 && dumped[0] && !dumped[1]);
}

struct cell {
  cell* next;
  int value;
};

void send_file(int connection, int file, const void* bytes, std::size_t size) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof(int));
  CHECK(sendmsg(connection, &message, 0) == static_cast<ssize_t>(size));
}

int receive_file(int connection, void* bytes, std::size_t size) {
  iovec part{bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  CHECK(recvmsg(connection, &message, 0) == static_cast<ssize_t>(size));
  int file = -1;
  std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  return file;
}

struct greeting {
  unsigned slot;
  std::size_t bytes;
  cell* list;
};
greeting greet(int connection, cell* mine) {
  const greeting own{static_cast<unsigned>(ask<int>("heap_test_slot")), ask("heap_test_window_bytes"), mine};
  send_file(connection, ask<int>("heap_test_file"), &own, sizeof(own));
  greeting other{};
  const int file = receive_file(connection, &other, sizeof(other));
  CHECK(probe<int(unsigned, int, std::size_t)>("heap_test_map_peer")(other.slot, file, other.bytes) == 0);
  close(file);
  return other;
}
cell* make_list(int first) {
  cell* list = nullptr;
  for (int index = 0; index < 1000; ++index) list = new cell{list, first + index};
  return list;
}
// Walks the list of the other process by its own pointers, and answers in it.
void walk_and_answer(cell* list, int first) {
  int expected = first + 1000;
  for (; list != nullptr; list = list->next) {
    CHECK(!in_window(list));
    CHECK(list->value == --expected);
    list->value = -expected;
  }
  CHECK(expected == first);
}
void check_answers(cell* list, int first) {
  int expected = first + 1000;
  for (; list != nullptr; list = list->next) CHECK(list->value == - --expected);
}

// Where the peers meet, by the first one's number.
socklen_t name_meeting(pid_t first, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "trireme-heap-peers-%d", first);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
}

void peers(const char* program) {
  CHECK(ask<int>("heap_test_slot") == 0);
  const int meeting = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t length = name_meeting(getpid(), address);
  CHECK(bind(meeting, reinterpret_cast<const sockaddr*>(&address), length) == 0 && listen(meeting, 4) == 0);
  char* const arguments[] = {const_cast<char*>(program), const_cast<char*>("second_peer"), nullptr};
  pid_t child = 0;
  CHECK(posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0);
  const int connection = accept(meeting, nullptr, nullptr);
  CHECK(connection >= 0);
  cell* const list = make_list(1);
  const greeting other = greet(connection, list);
  CHECK(other.slot == 1);
  walk_and_answer(other.list, 5000);
  char byte = 0;
  CHECK(write(connection, "x", 1) == 1 && read(connection, &byte, 1) == 1);
  check_answers(list, 1);
  // A forked child neither has the peers' windows nor changes ours.
  const pid_t forked = fork();
  if (forked == 0) {
    unsigned char residency = 0;
    CHECK(mincore(reinterpret_cast<void*>(0x301000000000), 4096, &residency) == -1 && errno == ENOMEM);
    list->value = 1;
    _exit(0);
  }
  CHECK(status_of(forked) == 0);
  check_answers(list, 1);
  CHECK(write(connection, "x", 1) == 1);
  CHECK(status_of(child) == 0);
}
void second_peer() {
  CHECK(ask<int>("heap_test_slot") == 1);
  const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t length = name_meeting(getppid(), address);
  CHECK(connect(connection, reinterpret_cast<const sockaddr*>(&address), length) == 0);
  cell* const list = make_list(5000);
  const greeting other = greet(connection, list);
  CHECK(other.slot == 0);
  walk_and_answer(other.list, 1);
  char byte = 0;
  CHECK(write(connection, "x", 1) == 1 && read(connection, &byte, 1) == 1);
  check_answers(list, 5000);
  CHECK(read(connection, &byte, 1) == 1);
}

// A program that closes what it has not opened: the heap goes on, sharing does not.
void closed_descriptors() {
  CHECK(ask<int>("heap_test_owns_descriptors") == 1);
  const int own_file = ask<int>("heap_test_slot_file");
  close(own_file);
  CHECK(ask<int>("heap_test_owns_descriptors") == 0);
  CHECK(dup2(socket(AF_UNIX, SOCK_SEQPACKET, 0), own_file) == own_file);
  CHECK(ask<int>("heap_test_owns_descriptors") == 0);
  close(ask<int>("heap_test_file"));
  auto* const block = static_cast<char*>(opaque(std::malloc(100 * mib)));
  touch(block, 100 * mib, 4096);
  block[77] = 'p';
  // Nobody can say which pages exist: all are copied.
  const pid_t child = fork();
  if (child == 0) {
    CHECK(block[77] == 'p' && block[78] == 0);
    block[77] = 'c';
    CHECK(fcntl(own_file, F_GETFD) >= 0);  // it is the program's now
    _exit(0);
  }
  CHECK(status_of(child) == 0);
  CHECK(block[77] == 'p');
  std::free(block);
  CHECK(in_window(opaque(std::malloc(100 * mib))) && ask<int>("heap_test_valid") == 1);
}

// Run with little address space, so that a failure fills no memory of the host.
void locked_memory() {
  void* const before = opaque(std::malloc(100 * mib));
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    CHECK(errno == ENOMEM || errno == EPERM);  // the limit of locked memory
    return;
  }
  CHECK(ask("heap_test_resident") < 20 * mib);
  auto* const block = static_cast<char*>(opaque(std::malloc(100 * mib)));
  touch(block, 100 * mib, 4096);
  std::free(block);  // stays: locked pages cannot be given back
  auto* const again = static_cast<char*>(opaque(std::calloc(1, 100 * mib)));
  for (std::size_t index = 0; index < 100 * mib; index += 4096) CHECK(again[index] == 0);
  std::free(again);
  std::free(before);
  CHECK(ask<int>("heap_test_valid") == 1);
}

void reason() { std::printf("%s\n", ask<const char*>("heap_test_reason")); }

}  // namespace

int main(int count, char** arguments) {
  const std::string verb = count > 1 ? arguments[1] : "";
  const std::map<std::string, void (*)()> verbs = {
      {"inside", inside},
      {"threads", threads},
      {"reallocations", reallocations},
      {"alignments", alignments},
      {"huge", huge},
      {"trim", trim},
      {"limits", limits},
      {"full", full},
      {"forks", forks},
      {"spawns", spawns},
      {"reason", reason},
      {"second_peer", second_peer},
      {"fork_without_memory", fork_without_memory},
      {"invalid_free", invalid_free},
      {"double_free", double_free},
      {"core_dumps", core_dumps},
      {"closed_descriptors", closed_descriptors},
      {"locked_memory", locked_memory},
  };
  if (verb == "peers") {
    peers(arguments[0]);
    return 0;
  }
  const auto found = verbs.find(verb);
  if (found == verbs.end()) return 3;
  found->second();
  return 0;
}
