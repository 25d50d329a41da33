#include "trace/communication_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tri::tools {
namespace {

constexpr int most_pes_of_table = 16;

}  // namespace

communication_matrix matrix_of(const trace_folder& trace) {
  communication_matrix matrix;
  for (const trace_row& row : trace.rows)
    for (const trace_event& one : row.events) {
      if (one.what != trace::event::send || one.to == trace::target::other_hosts) continue;
      const int to = static_cast<int>(one.peer) * (one.to == trace::target::process ? trace.pes_per_process : 1);
      traffic& sum = matrix[{row.pe, to}];
      ++sum.messages;
      sum.bytes += one.bytes;
    }
  return matrix;
}

std::string text_of_matrix(const trace_folder& trace, const communication_matrix& matrix, std::size_t most) {
  const int pes = trace.processes * trace.pes_per_process;
  if (matrix.empty()) return {};
  std::string text;
  if (pes <= most_pes_of_table) {
    text = fmt::format("messages: {:>6}", "to PE");
    for (int to = 0; to < pes; ++to) text += fmt::format("{:>10}", to);
    for (int from = 0; from < pes; ++from) {
      text += fmt::format("\n    from PE {:>4}", from);
      for (int to = 0; to < pes; ++to) {
        const auto found = matrix.find({from, to});
        text += fmt::format("{:>10}", found == matrix.end() ? 0 : found->second.messages);
      }
    }
    return text + "\n";
  }
  std::vector<std::pair<std::pair<int, int>, traffic>> pairs(matrix.begin(), matrix.end());
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& one, const auto& other) { return one.second.bytes > other.second.bytes; });
  if (pairs.size() > most) pairs.resize(most);
  text = fmt::format("pairs with the most bytes: {:>6}{:>6}{:>12}{:>14}\n", "from", "to", "messages", "bytes");
  for (const auto& [pair, sum] : pairs)
    text += fmt::format("                           {:>6}{:>6}{:>12}{:>14}\n", pair.first, pair.second, sum.messages,
                        sum.bytes);
  return text;
}

std::string matrix_as_csv(const communication_matrix& matrix) {
  std::string text = "from,to,messages,bytes\n";
  for (const auto& [pair, sum] : matrix)
    text += fmt::format("{},{},{},{}\n", pair.first, pair.second, sum.messages, sum.bytes);
  return text;
}

}  // namespace tri::tools
