// The live page: what a process of a job publishes in its own window for readers outside of the job (`trireme top`). It
// names its figures, says where in the window each one lies, and is written once, before the window's header refers to
// it; then only the figures change. Each figure is one aligned word of 64 bits with a single writer, so no two words
// have to agree and nothing is locked. README.md has the reasons.
//
// All places are offsets from the start of the window. A reader trusts none of them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tri::live {

inline constexpr std::uint64_t page_magic = 0x315456'4c495254;  // "TRILVT1"
inline constexpr std::uint32_t page_version = 1;

enum class job_kind : std::uint32_t { objects = 1, mpi = 2 };

enum class figure_kind : std::uint32_t {
  count = 1,  // of events; never falls
  bytes,      // never falls
  ticks,      // of os::ticks(); never falls
  level,      // how many there are now
  idle        // see idle_word.hpp
};

struct figure {
  char name[44];  // ends with a zero
  figure_kind kind;
  std::uint32_t block;   // of row::blocks
  std::uint32_t offset;  // in that block, a multiple of 8
  std::uint32_t unused = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(figure) == 64);

/// Of the word `tickets`; not part of the number.
inline constexpr std::uint64_t ring_sleep_bit = std::uint64_t{1} << 63;

/// The ring in which messages of the host come to a row. Cells keep the last message after it was read, so a reader
/// learns whose messages came lately, though nothing counts them by sender. 0 everywhere: there is none.
struct ring {
  std::uint64_t tickets = 0;   // word: messages that were put in; the top bit is not part of the number
  std::uint64_t consumed = 0;  // word: of these, messages taken out, published now and then
  std::uint64_t cells = 0;
  std::uint32_t capacity = 0;  // cells, a power of two
  std::uint32_t cell_bytes = 0;
  std::uint32_t stamp_at = 0;   // in a cell, 8 bytes: 1 + its ticket, when it is published
  std::uint32_t source_at = 0;  // in a cell, 4 bytes: number of the row that sent it
};
static_assert(sizeof(ring) == 40);

/// One PE, or one rank.
struct row {
  static constexpr int most_blocks = 2;
  std::int32_t number = 0;  // in the job
  std::uint32_t unused = 0;
  std::uint64_t blocks[most_blocks] = {};
  ring inbox;
};
static_assert(sizeof(row) == 64);

struct page {
  std::uint64_t magic = page_magic;
  std::uint32_t version = page_version;
  std::uint32_t bytes = 0;  // of the page, its figures and rows
  job_kind kind{};
  std::int32_t pid = 0;
  std::int32_t process = 0;
  std::int32_t processes = 0;
  std::int32_t host = 0;  // emulated ones count
  std::int32_t hosts = 0;
  std::int32_t rows_of_job = 0;  // PEs, or ranks
  std::int32_t first_pid = 0;    // of process 0, on its host
  std::uint64_t job = 0;         // the same in all processes of the job, and probably in no other job
  std::uint64_t began_ticks = 0;
  double ns_per_tick = 0;
  std::uint32_t figures = 0;  // behind the page
  std::uint32_t rows = 0;     // behind the figures
};
static_assert(sizeof(page) == 80 && std::is_trivially_copyable_v<page> && std::is_trivially_copyable_v<row> &&
              std::is_trivially_copyable_v<figure>);

}  // namespace tri::live
