// Lays out the live page of a process (format.hpp) in its own window. Called once per process at start-up, by one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "live/format.hpp"

namespace tri::live {

struct figure_place {
  const char* name;  // at most 43 characters
  figure_kind kind;
  std::uint32_t block = 0;
  std::size_t offset = 0;
};

struct row_place {
  std::int32_t number = 0;
  const void* blocks[row::most_blocks] = {};
  ring inbox;  // its offsets already from the start of the window
};

std::size_t bytes_of_page(std::size_t figures, std::size_t rows);

/// Into `memory` of that size; `window` is the start of the window that holds it and all blocks. The counts of figures
/// and rows in `facts` are set here. Throws std::length_error for a name that is too long.
void write_page(std::byte* memory, page facts, std::span<const figure_place> figures, std::span<const row_place> rows,
                const std::byte* window);

}  // namespace tri::live
