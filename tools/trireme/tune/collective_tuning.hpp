// `trireme tune --collectives`: what messages, copies and signals cost here, measured by an MPI program that the user's
// launcher starts, and the parameters of the cost model from that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coll/cost_fit.hpp"

namespace tri::tools {

/// Medians of the series that the measuring program prints (mpi_measure.c, `costs`), as the fit takes them. A pure
/// function. Throws std::invalid_argument for a name that it does not know.
coll::cost_measurements measurements_of(const std::map<std::string, double>& medians);

/// Measures with this launcher and its options, writes the file and says what is in it. Returns the exit status.
int tune_collectives(const std::vector<std::string>& launcher, std::string output, bool quiet);

}  // namespace tri::tools
