// The rows of the suite `loops`.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

// `program`: the trireme command, which the competitors are started from.
std::vector<row_definition> loop_rows(const std::string& program);

}  // namespace tri::bench
