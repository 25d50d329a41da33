// Latency of gets and puts by their size: sections of a row, one at a time.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arrays/rows.hpp"
#include "arrays/two_pes.hpp"

namespace tri::bench {
namespace {

measurement measure_gets(context& tools, std::int64_t words) {
  const arrays_of_pe& in = arrays_of_two_pes().local();
  static auto* const to = page_aligned<std::uint64_t>(65536);
  return {.samples = tools.runner().time([&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) in.table.get({{table_words}, {table_words + words}}, to).get();
  })};
}

measurement measure_puts(context& tools, std::int64_t words) {
  const arrays_of_pe& in = arrays_of_two_pes().local();
  static const auto* const from = page_aligned<std::uint64_t>(65536);
  return {.samples = tools.runner().time([&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) in.table.put({{table_words}, {table_words + words}}, from).get();
  })};
}

}  // namespace

std::vector<row_definition> array_size_rows() {
  const auto peers = std::make_shared<array_peers>();
  std::vector<row_definition> rows;
  for (const array_place& place : array_places())
    for (const bool is_get : {true, false})
      for (const std::int64_t bytes : {8, 64, 512, 4096, 16384, 65536}) {
        const std::string series = fmt::format("{}/{}", is_get ? "get" : "put", bytes);
        rows.push_back(
            {.name = fmt::format("arrays/{}/{}", place.name, series),
             .unit = "us",
             .handoffs = 0,
             .description = fmt::format("{} B are {}, one section at a time", bytes, is_get ? "read" : "written"),
             .measure =
                 [=](context& tools) {
                   return is_get ? measure_gets(tools, bytes / 8) : measure_puts(tools, bytes / 8);
                 },
             .launch = place.how,
             .peers = peers_at(peers, place.peers, "sizes", series, "us")});
      }
  return rows;
}

}  // namespace tri::bench
