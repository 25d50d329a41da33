// The rows of the suite `wire`. `program`: the trireme command, which starts the contestants.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> wire_rows(const std::string& program);
std::vector<row_definition> broadcast_rows();  // part of them

}  // namespace tri::bench
