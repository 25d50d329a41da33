// Rows of the suite `arrays`: global arrays on two PEs of one host, and of two hosts, beside the peers of peers.hpp.
#pragma once

#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

/// All of them.
std::vector<row_definition> array_rows();

/// Single elements, random accesses, sections.
std::vector<row_definition> array_access_rows();
/// Gets and puts from 8 B to 64 KiB.
std::vector<row_definition> array_size_rows();
/// Gets from a PE that computes.
std::vector<row_definition> array_busy_rows();
/// What the owner of elements does alone: loops over them, and index arithmetic.
std::vector<row_definition> array_local_rows();

}  // namespace tri::bench
