// The rows of the suite `messages`, one function for each file of this folder.
#pragma once

#include <vector>

#include "framework/suite.hpp"
#include "messages/kneighbor.hpp"

namespace tri::bench {

std::vector<row_definition> ping_pong_rows();
std::vector<row_definition> rate_rows();
std::vector<row_definition> own_pe_rows();
std::vector<row_definition> creation_rows();
std::vector<row_definition> collective_rows();
std::vector<row_definition> team_rows();
std::vector<row_definition> kneighbor_rows(const std::vector<kneighbor_shape>& further);
std::vector<row_definition> queue_rows();
std::vector<row_definition> allocator_rows();
std::vector<row_definition> private_variable_rows();

}  // namespace tri::bench
