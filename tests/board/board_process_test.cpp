// Two real processes share a memfd at one fixed address: the bytes of a large move are shared out between them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>

#include "board_memory.hpp"

namespace tri::board {
namespace {

void move_bytes(const task_view& task, std::uint64_t first, std::uint64_t last, int pe) noexcept {
  auto* to = reinterpret_cast<char*>(task.arguments[0]);
  const auto* from = reinterpret_cast<const char*>(task.arguments[1]);
  std::memcpy(to + first, from + first, last - first);
  auto* moved_by = reinterpret_cast<std::atomic<std::uint64_t>*>(task.arguments[2]);
  moved_by[pe].fetch_add(last - first);
}

struct shared_part {
  std::atomic<std::uint64_t> moved_by[2];
  std::atomic<int> ready;
  std::atomic<int> stop;
};

constexpr std::size_t bytes_to_move = std::size_t{4} << 20;
constexpr std::uintptr_t fixed_address = 0x7e8100000000;  // where the thread sanitizer allows mappings as well

// In the second process: maps the same memory, attaches, helps until told to stop. Its exit status says what went
// wrong.
[[noreturn]] void second_process(int memory_fd, std::size_t size, std::size_t board_bytes) {
  void* const wanted = reinterpret_cast<void*>(fixed_address);
  if (mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory_fd, 0) != wanted) _exit(2);
  operation_table operations;
  operations.chunks.add("move", move_bytes);
  try {
    const board view = board::attach({static_cast<std::byte*>(wanted), board_bytes}, operations);
    board_pe pe = view.join(1);
    auto& shared = *reinterpret_cast<shared_part*>(fixed_address + board_bytes);
    shared.ready = 1;
    while (shared.stop.load() == 0) {
      if (pe.help() == 0) usleep(10);
    }
  } catch (const std::exception&) {
    _exit(3);
  }
  _exit(0);
}

TEST(board_of_two_processes, moves_bytes_together) {
  operation_table operations;
  const operation_id move = operations.chunks.add("move", move_bytes);
  const board_shape shape{{0, 1}};
  const std::size_t board_bytes = board::required_bytes(shape);
  const std::size_t size = board_bytes + sizeof(shared_part) + 64 + 2 * bytes_to_move;
  const int memory_fd = memfd_create("board_test", MFD_CLOEXEC);
  ASSERT_GE(memory_fd, 0);
  ASSERT_EQ(ftruncate(memory_fd, static_cast<off_t>(size)), 0);
  void* const wanted = reinterpret_cast<void*>(fixed_address);
  ASSERT_EQ(mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, memory_fd, 0), wanted);
  const board view = board::initialise({static_cast<std::byte*>(wanted), board_bytes}, shape, operations);
  auto& shared = *new (reinterpret_cast<void*>(fixed_address + board_bytes)) shared_part{};
  char* const from = reinterpret_cast<char*>(fixed_address + board_bytes + sizeof(shared_part) + 64);
  char* const to = from + bytes_to_move;
  std::iota(from, from + bytes_to_move, 1);

  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    munmap(wanted, size);  // it gets the memory the way any other process does
    second_process(memory_fd, size, board_bytes);
  }
  const auto child_alive = [&] { return waitpid(child, nullptr, WNOHANG) == 0; };
  while (shared.ready.load() == 0) ASSERT_TRUE(child_alive()) << "the second process ended before it was ready";

  board_pe pe = view.join(0);
  std::uint64_t moved = 0;
  int rounds = 0;
  // Until the other process has taken a share; the poster leaves the other's range to it in the first round.
  for (; rounds < 200 || shared.moved_by[1].load() == 0; ++rounds) {
    std::memset(to, 0, bytes_to_move);
    task_spec spec;
    spec.operation = move;
    spec.arguments = {reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from),
                      reinterpret_cast<std::uint64_t>(shared.moved_by)};
    spec.total = bytes_to_move;
    spec.chunk = 8192;
    spec.participants = 2;
    spec.static_fraction = rounds % 3 / 2.0;
    const task_handle task = pe.post(spec).handle;
    ASSERT_TRUE(task);
    if (rounds == 0) {
      pe.run_own(task);
      while (!pe.finished(task)) ASSERT_TRUE(child_alive());
    }
    pe.finish(task, [] { usleep(10); });
    moved += bytes_to_move;
    ASSERT_EQ(std::memcmp(from, to, bytes_to_move), 0) << "round " << rounds;
  }
  shared.stop = 1;
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(shared.moved_by[0].load() + shared.moved_by[1].load(), moved);
  EXPECT_GE(shared.moved_by[1].load(), bytes_to_move / 2) << "the first round left half of the bytes to the other";
  EXPECT_TRUE(view.is_valid());
  munmap(wanted, size);
  close(memory_fd);
}

}  // namespace
}  // namespace tri::board
