// A window of its own for a test that works below the arena facade.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "arena/window.hpp"

namespace tri::arena::testing {

inline constexpr std::size_t small_window_bytes = std::size_t{64} << 20;

struct test_window {
  explicit test_window(std::size_t bytes = small_window_bytes, int number = 0)
      : file(create_window_file(bytes)), mapped(map_window(file, number, bytes, true)) {}
  ~test_window() {
    munmap(mapped.address, mapped.bytes);
    close(file);
  }
  test_window(const test_window&) = delete;
  test_window& operator=(const test_window&) = delete;

  int file;
  window mapped;
};

}  // namespace tri::arena::testing
