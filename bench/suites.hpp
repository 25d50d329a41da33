// All suites of `trireme bench`. A suite is a list of rows; to add one, call it in suites.cpp.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"
#include "messages/kneighbor.hpp"

namespace tri::bench {

// The user's settings for the suites.
struct suite_options {
  std::vector<kneighbor_shape> kneighbor = {};
  std::string program = "/proc/self/exe";  // what starts loop competitors and the MPI drop-in
};

registry all_suites(const suite_options& options = {});

// Rows that need nothing but the machine: the hand-off of a cache line.
std::vector<row_definition> machine_rows();
// Of the suite `coll`: plans of collectives, generated.
std::vector<row_definition> plan_rows();

}  // namespace tri::bench
