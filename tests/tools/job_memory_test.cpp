// Memory of processes: what is shared counts once in the sum of PSS, and in each process in that of RSS (M80).
#include "sweep/job_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "os/child_process.hpp"

namespace tri::tools {
namespace {

constexpr std::size_t shared_bytes = std::size_t{32} << 20;

TEST(job_memory, shared_pages_count_once) {
  void* const shared = mmap(nullptr, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::array<os::pipe_ends, 2> ready{os::open_pipe(), os::open_pipe()};
  std::array<pid_t, 2> children{};
  for (std::size_t i = 0; i < 2; ++i) {
    children[i] = os::start_function([&, i] {
      std::memset(shared, 1, shared_bytes);
      const bool is_said = write(ready[i].write.get(), "x", 1) == 1;
      pause();
      return is_said ? 0 : 1;
    });
  }
  char byte = 0;
  for (const os::pipe_ends& each : ready) ASSERT_EQ(read(each.read.get(), &byte, 1), 1);
  const process_memory both = memory_of_all(children);
  EXPECT_GE(both.resident_bytes, 2 * shared_bytes);
  if (both.proportional_bytes) {
    EXPECT_GE(*both.proportional_bytes, shared_bytes);
    EXPECT_LT(*both.proportional_bytes, 2 * shared_bytes);
  }
  for (const pid_t child : children) os::kill_and_wait(child);
  EXPECT_FALSE(memory_of(children[0]).has_value()) << "it has ended";
  EXPECT_EQ(memory_of_all(children).resident_bytes, 0u);
  munmap(shared, shared_bytes);
}

TEST(job_memory, of_this_process) {
  const std::optional<process_memory> own = memory_of(getpid());
  ASSERT_TRUE(own.has_value());
  EXPECT_GT(own->resident_bytes, 1u << 20);
  if (own->proportional_bytes) {
    EXPECT_LE(*own->proportional_bytes, own->resident_bytes + (1u << 20));
  }
}

}  // namespace
}  // namespace tri::tools
