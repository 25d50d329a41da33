// The emulated network adapter: keys and limits are enforced, and accesses take the time of the link (virtual time).
#include "arrays/direct/emulated_adapter.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "os/unique_fd.hpp"

namespace tri::arrays {
namespace {

/// A memory file with the keys at its end, as its owner maps it.
class owner {
 public:
  explicit owner(const registration_limits& limits = {})
      : file_(memfd_create("trireme-test", MFD_CLOEXEC)),
        begin_(map(file_.get())),
        keys_(new(begin_ + memory_bytes) key_table),
        adapter_(*keys_, begin_, file_.get(), limits) {}
  ~owner() { munmap(begin_, file_bytes); }
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;

  std::byte* memory() const { return begin_; }
  emulated_adapter& adapter() { return adapter_; }
  std::optional<remote_address> register_memory(std::size_t first, std::size_t bytes) {
    return adapter_.register_memory(reinterpret_cast<std::uintptr_t>(begin_) + first, bytes);
  }
  remote_window window() const { return {getpid(), file_.get(), memory_bytes}; }

  static constexpr std::size_t memory_bytes = std::size_t{64} << 10;
  static constexpr std::size_t file_bytes = memory_bytes + sizeof(key_table);

 private:
  static std::byte* map(int file) {
    if (ftruncate(file, file_bytes) != 0) throw std::runtime_error("no memory file");
    void* const mapped = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("no memory");
    return static_cast<std::byte*>(mapped);
  }
  os::unique_fd file_;
  std::byte* begin_;
  key_table* keys_;
  emulated_adapter adapter_;
};

template <std::size_t Bytes>
bool get(const remote_window& window, const remote_address& where, std::uint64_t offset,
         std::array<std::byte, Bytes>& to) {
  return window.access(remote_access::get, where, offset, to.data(), Bytes);
}

TEST(emulated_adapter, gets_and_puts_what_is_registered) {
  owner target;
  const remote_window window = target.window();
  for (std::size_t i = 0; i < 256; ++i) target.memory()[4096 + i] = static_cast<std::byte>(i);
  const auto where = target.register_memory(4096, 256);
  ASSERT_TRUE(where);
  EXPECT_EQ(where->address, 4096U);
  for (const std::size_t bytes : {1U, 2U, 3U, 4U, 8U, 11U, 255U, 256U}) {
    std::vector<std::byte> found(bytes);
    ASSERT_TRUE(window.access(remote_access::get, *where, 256 - bytes, found.data(), bytes));
    EXPECT_EQ(std::memcmp(found.data(), target.memory() + 4096 + 256 - bytes, bytes), 0);
    for (std::byte& each : found) each ^= std::byte{0xff};
    ASSERT_TRUE(window.access(remote_access::put, *where, 256 - bytes, found.data(), bytes));
    EXPECT_EQ(std::memcmp(found.data(), target.memory() + 4096 + 256 - bytes, bytes), 0);
  }
  EXPECT_EQ(target.adapter().errors(), 0U);
}

TEST(emulated_adapter, counts_accesses_without_a_valid_key) {
  owner target;
  const remote_window window = target.window();
  std::array<std::byte, 8> local{};
  const auto where = target.register_memory(4096, 256);
  ASSERT_TRUE(where);
  EXPECT_FALSE(get(window, {.address = where->address, .key = where->key + 1}, 0, local));
  EXPECT_FALSE(get(window, {.address = where->address, .key = where->key + key_table::slots}, 0, local));
  EXPECT_FALSE(get(window, *where, 249, local));
  EXPECT_FALSE(get(window, *where, 1U << 20U, local));
  EXPECT_FALSE(get(window, {.address = where->address - 8, .key = where->key}, 0, local));
  EXPECT_FALSE(get(window, *where, ~std::uint64_t{0}, local));
  EXPECT_EQ(target.adapter().errors(), 6U);
  EXPECT_TRUE(get(window, *where, 248, local));
  target.adapter().deregister_memory(*where);
  EXPECT_FALSE(get(window, *where, 0, local));
  // The same memory in the same slot has another key.
  const auto again = target.register_memory(4096, 256);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->key % key_table::slots, where->key % key_table::slots);
  EXPECT_FALSE(get(window, *where, 0, local));
  EXPECT_TRUE(get(window, *again, 0, local));
  EXPECT_EQ(target.adapter().errors(), 8U);
  EXPECT_EQ(target.adapter().count().errors, 0U);
}

TEST(emulated_adapter, has_the_limits_of_its_options_and_of_its_slots) {
  owner small({.total_bytes = 1000, .contiguous_bytes = 600});
  EXPECT_FALSE(small.register_memory(0, 601));
  const auto first = small.register_memory(0, 600);
  ASSERT_TRUE(first);
  EXPECT_FALSE(small.register_memory(600, 401));
  EXPECT_TRUE(small.register_memory(600, 400));
  small.adapter().deregister_memory(*first);
  EXPECT_TRUE(small.register_memory(600, 401));
  EXPECT_EQ(small.adapter().count().most_bytes, 1000U);

  owner full;
  std::vector<remote_address> all;
  for (std::size_t i = 0; i < key_table::slots; ++i) {
    const auto made = full.register_memory(i, 1);
    ASSERT_TRUE(made);
    all.push_back(*made);
  }
  EXPECT_FALSE(full.register_memory(0, 1));
  full.adapter().deregister_memory(all[7]);
  EXPECT_TRUE(full.register_memory(0, 1));
}

TEST(emulated_adapter, refuses_a_window_that_is_none) {
  const owner target;
  EXPECT_THROW(remote_window(getpid(), 1 << 20, 0), std::runtime_error);
  const os::unique_fd file(memfd_create("trireme-test", MFD_CLOEXEC));
  EXPECT_THROW(remote_window(getpid(), file.get(), 0), std::runtime_error);  // too short for the keys
}

}  // namespace
}  // namespace tri::arrays
