// Rows of the suite `arrays`: global arrays on two PEs of one host, and of two hosts.
#pragma once

#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> array_rows();

}  // namespace tri::bench
