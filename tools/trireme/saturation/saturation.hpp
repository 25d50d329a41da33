// The number of cores that saturate the memory of a NUMA domain: N of TRIREME_MPI_SHARING=throughput,N. Copiers of the
// domain and of another one copy 64 KiB at a time inside the domain's memory, for every number of the former and with
// none or one of the latter (Ouyang 2022, 2.4.2, profiles the same way).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tri::os {
class topology;
}

namespace tri::tools {

struct copy_throughput {
  int near = 0;  // copiers of the domain
  int far = 0;   // of another one
  double gigabytes_per_s = 0;
};

/// Copiers of the first domain that the process may use, up to one per core; `seconds` for each row. A machine with one
/// domain has no far copiers.
std::vector<copy_throughput> measure_copies(const os::topology& machine, double seconds);

/// The least number of near copiers beside which a further one - a far one where there are any - adds less than a
/// twentieth. As many as were measured, when each added more.
int saturation_of(const std::vector<copy_throughput>& rows);

nlohmann::json to_json(const std::vector<copy_throughput>& rows);
std::string to_text(const std::vector<copy_throughput>& rows);

}  // namespace tri::tools
