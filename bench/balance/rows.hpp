// The rows of the suite `balance`, one function for each file of this folder.
#pragma once

#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> balancing_rows();
std::vector<row_definition> seed_rows();

}  // namespace tri::bench
