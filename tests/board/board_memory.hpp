// Memory for a board in tests, aligned and filled with rubbish, so that nothing relies on zeroes.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "board/board.hpp"

namespace tri::board {

class board_memory {
 public:
  explicit board_memory(std::size_t bytes)
      : bytes_(bytes), data_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), std::free) {
    std::memset(data_.get(), 0xa5, bytes);
  }
  std::span<std::byte> span() const { return {data_.get(), bytes_}; }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte, decltype(&std::free)> data_;
};

// A board with its own operations, and one access per PE. In single-threaded tests one thread plays all PEs in turn.
struct test_host {
  explicit test_host(const std::vector<std::uint32_t>& process_of_pe, operation_table& operations)
      : shape{process_of_pe},
        memory(board::required_bytes(shape)),
        view(board::initialise(memory.span(), shape, operations)) {
    for (std::uint32_t pe = 0; pe < shape.pe_count(); ++pe) pes.push_back(view.join(pe));
  }

  board_shape shape;
  board_memory memory;
  board view;
  std::vector<board_pe> pes;
};

}  // namespace tri::board
