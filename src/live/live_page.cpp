#include "live/live_page.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace tri::live {

std::size_t bytes_of_page(std::size_t figures, std::size_t rows) {
  return sizeof(page) + figures * sizeof(figure) + rows * sizeof(row);
}

void write_page(std::byte* memory, page facts, std::span<const figure_place> figures, std::span<const row_place> rows,
                const std::byte* window) {
  facts.bytes = static_cast<std::uint32_t>(bytes_of_page(figures.size(), rows.size()));
  facts.figures = static_cast<std::uint32_t>(figures.size());
  facts.rows = static_cast<std::uint32_t>(rows.size());
  std::byte* at = memory;
  const auto append = [&](const auto& part) {
    std::memcpy(at, &part, sizeof(part));
    at += sizeof(part);
  };
  append(facts);
  for (const figure_place& each : figures) {
    figure made{.name = {}, .kind = each.kind, .block = each.block, .offset = static_cast<std::uint32_t>(each.offset)};
    const std::size_t length = std::strlen(each.name);
    if (length >= sizeof(made.name))
      throw std::length_error(std::string("live page: the name of a figure is too long: ") + each.name);
    std::memcpy(made.name, each.name, length);
    append(made);
  }
  for (const row_place& each : rows) {
    row made{.number = each.number, .inbox = each.inbox};
    for (int i = 0; i < row::most_blocks; ++i)
      if (each.blocks[i] != nullptr)
        made.blocks[i] = static_cast<std::uint64_t>(static_cast<const std::byte*>(each.blocks[i]) - window);
    append(made);
  }
}

}  // namespace tri::live
