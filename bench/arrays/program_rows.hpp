// Rows of the suite `arrays` that are whole programs of apps/, run in processes of their own.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

// `program` is the command that starts them: <program> run -n 2 ...
std::vector<row_definition> array_program_rows(const std::string& program);

}  // namespace tri::bench
