// Who copied what for whom: in traces of MPI jobs, where ranks that wait copy messages of others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "trace/trace_folder.hpp"

namespace tri::tools {

struct copy_sum {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  std::int64_t ns = 0;
};
using copy_table = std::map<std::tuple<int, int, int>, copy_sum>;  // copier, sender, receiver
copy_table copies_of(const trace_folder& trace);

/// The `most` rows with the most bytes, and how much was copied by others than the receiver. Empty without copies.
std::string text_of_copies(const copy_table& table, std::size_t most);

}  // namespace tri::tools
