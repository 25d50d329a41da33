// The rows of the suite `wire`. `program`: the trireme command, which starts the competitors.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> wire_rows(const std::string& program);
/// Part of them: messages that are put to their place by their pages.
std::vector<row_definition> remap_rows();
/// Part of them: what messages do to the cache of a computation.
std::vector<row_definition> cache_rows(const std::string& program);
/// Part of them: broadcasts by several trees.
std::vector<row_definition> broadcast_rows();

}  // namespace tri::bench
