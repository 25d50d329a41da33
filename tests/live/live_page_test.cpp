// The layout of a live page: what a reader finds where the format says.
#include "live/live_page.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace tri::live {
namespace {

TEST(live_page, has_figures_and_rows_behind_it) {
  alignas(8) std::array<std::byte, 8192> window{};
  std::byte* const memory = window.data() + 512;
  const std::array<figure_place, 2> figures{
      {{"idle", figure_kind::idle, 0, 8}, {"received", figure_kind::count, 1, 24}}};
  const std::array<row_place, 3> rows{{{.number = 4, .blocks = {window.data() + 4096, nullptr}, .inbox = {}},
                                       {.number = 5, .blocks = {window.data() + 4160, window.data() + 64}, .inbox = {}},
                                       {.number = 6, .blocks = {}, .inbox = {.tickets = 128, .capacity = 16}}}};
  write_page(memory, {.kind = job_kind::mpi, .pid = 77, .rows_of_job = 9}, figures, rows, window.data());

  page found;
  std::memcpy(&found, memory, sizeof found);
  EXPECT_EQ(found.magic, page_magic);
  EXPECT_EQ(found.version, page_version);
  EXPECT_EQ(found.pid, 77);
  EXPECT_EQ(found.kind, job_kind::mpi);
  EXPECT_EQ(found.figures, 2U);
  EXPECT_EQ(found.rows, 3U);
  EXPECT_EQ(found.bytes, bytes_of_page(2, 3));

  figure second;
  std::memcpy(&second, memory + sizeof(page) + sizeof(figure), sizeof second);
  EXPECT_STREQ(second.name, "received");
  EXPECT_EQ(second.kind, figure_kind::count);
  EXPECT_EQ(second.block, 1U);
  EXPECT_EQ(second.offset, 24U);

  std::array<row, 3> found_rows;
  std::memcpy(found_rows.data(), memory + sizeof(page) + 2 * sizeof(figure), sizeof found_rows);
  EXPECT_EQ(found_rows[0].number, 4);
  EXPECT_EQ(found_rows[0].blocks[0], 4096U);
  EXPECT_EQ(found_rows[0].blocks[1], 0U);
  EXPECT_EQ(found_rows[1].blocks[1], 64U);
  EXPECT_EQ(found_rows[2].inbox.tickets, 128U);
  EXPECT_EQ(found_rows[2].inbox.capacity, 16U);
}

TEST(live_page, refuses_a_name_without_room) {
  std::vector<std::byte> window(4096);
  const std::string name(44, 'x');
  const figure_place one{name.c_str(), figure_kind::count};
  EXPECT_THROW(write_page(window.data(), {}, {&one, 1}, {}, window.data()), std::length_error);
}

}  // namespace
}  // namespace tri::live
