// The rows of the suite `coll`: collective operations of MPI programs on one host, under the drop-in and beside the MPI
// libraries. Bytes are those of a vector (bcast, reductions) or of the block of one rank. `program`: the trireme
// command.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> mpi_collective_rows(const std::string& program);

}  // namespace tri::bench
