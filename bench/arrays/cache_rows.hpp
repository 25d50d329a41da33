// Rows of the suite `arrays`: what the cache of remote addresses gains and costs, and what a host keeps about others.
#pragma once

#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> array_cache_rows();

}  // namespace tri::bench
