// Who sent how much to whom, from the sends in a trace. Messages to any PE of a process count for its first PE, those
// to all other hosts for none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "trace/trace_folder.hpp"

namespace tri::tools {

struct traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};
using communication_matrix = std::map<std::pair<int, int>, traffic>;  // from and to
communication_matrix matrix_of(const trace_folder& trace);

/// A table of messages for few PEs; for more the pairs with the most bytes.
std::string text_of_matrix(const trace_folder& trace, const communication_matrix& matrix, std::size_t most);

/// Lines "from,to,messages,bytes", below a line with these names.
std::string matrix_as_csv(const communication_matrix& matrix);

}  // namespace tri::tools
