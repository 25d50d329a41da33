// Rows of the suite `arrays`: the dense programs of apps/dense beside ScaLAPACK and OpenBLAS's threads, 2 PEs,
// processes or threads on 2 cores, in turn.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

/// `program`: the trireme command.
std::vector<row_definition> dense_rows(const std::string& program);

}  // namespace tri::bench
