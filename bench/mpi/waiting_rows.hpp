// Rows of the suite `mpi` in which some ranks exchange data and the others wait inside MPI, where the drop-in lets them
// help: messages beside idle ranks, and fences. `program`: the trireme command, which starts the drop-in.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> mpi_waiting_rows(const std::string& program);

}  // namespace tri::bench
