// The rows of the suite `mpi_slack`: the cost of timing MPI calls (src/mpi/slack).
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

// `program`: the trireme command, which starts the MPI programs. A row for each MPI that was there at configure time.
std::vector<row_definition> interception_rows(const std::string& program);

}  // namespace tri::bench
