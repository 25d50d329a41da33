#include "trace/copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "duration.hpp"

namespace tri::tools {

copy_table copies_of(const trace_folder& trace) {
  copy_table table;
  for (const trace_row& row : trace.rows)
    for (const trace_event& one : row.events) {
      if (one.what != trace::event::copied) continue;
      copy_sum& sum = table[{row.pe, static_cast<int>(one.handler), static_cast<int>(one.peer)}];
      ++sum.copies;
      sum.bytes += one.number;
      sum.ns += one.length;
    }
  return table;
}

std::string text_of_copies(const copy_table& table, std::size_t most) {
  if (table.empty()) return {};
  std::uint64_t all = 0;
  std::uint64_t by_others = 0;
  for (const auto& [who, sum] : table) {
    all += sum.bytes;
    if (std::get<0>(who) != std::get<2>(who)) by_others += sum.bytes;
  }
  std::vector<std::pair<std::tuple<int, int, int>, copy_sum>> rows(table.begin(), table.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& one, const auto& other) { return one.second.bytes > other.second.bytes; });
  std::string text =
      fmt::format("large messages: {} bytes copied, {} of them by others than the receiver\n", all, by_others);
  text += fmt::format("{:>10}{:>10}{:>10}{:>10}{:>16}{:>12}\n", "copied by", "from", "to", "copies", "bytes", "time");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const auto& [who, sum] = rows[i];
    text += fmt::format("{:>10}{:>10}{:>10}{:>10}{:>16}{:>12}\n", std::get<0>(who), std::get<1>(who), std::get<2>(who),
                        sum.copies, sum.bytes, format_duration(static_cast<double>(sum.ns)));
  }
  if (rows.size() > most) text += fmt::format("... and {} more\n", rows.size() - most);
  return text;
}

}  // namespace tri::tools
