// The rows `loop/kernel/...` of the suite `loops`: loops in the shape of real programs (real_kernels.hpp).
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> kernel_rows(const std::string& program);

}  // namespace tri::bench
