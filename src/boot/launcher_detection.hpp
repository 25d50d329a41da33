// Which launcher started this process, according to the environment. A pure function of it.
#pragma once

#include <string>
#include <vector>

namespace tri::boot {

enum class launcher_kind { none, trireme, pmi1, pmix };

struct detected_launcher {
  launcher_kind kind = launcher_kind::none;
  std::string job_name;  // of our own launcher
  int fd = -1;           // of PMI-1, with rank and size
  int rank = 0;
  int size = 1;
};

// `environment` is a list of "NAME=value". Throws job_error when two launchers claim the process, when one speaks an
// unsupported protocol, and for malformed values.
detected_launcher detect_launcher(const std::vector<std::string>& environment);

}  // namespace tri::boot
