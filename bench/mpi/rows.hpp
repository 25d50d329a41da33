// The rows of the suite `mpi`. `program`: the trireme command, which starts the drop-in.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> mpi_rows(const std::string& program);

}  // namespace tri::bench
