// The "context" of a result: the machine, software and method. A figure without it cannot be compared with another one.
#pragma once

#include <nlohmann/json.hpp>

#include "framework/batches.hpp"

namespace tri::bench {

// Machine (model, CPUs, caches, memory, hypervisor, kernel), software (version, commit, compiler, build type), state
// (date, load, frequency governor) and method (estimator, batches). Unknown values are null.
nlohmann::json describe_context(const batch_options& method);

// The one-minute load of the machine per CPU; above about 0.5 other programs disturb measurements.
double load_per_cpu();

}  // namespace tri::bench
