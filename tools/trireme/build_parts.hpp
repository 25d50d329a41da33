// The parts of Trireme in this build: reported by `trireme info`, and by `trireme exec` when a library is missing.
#pragma once

#include <vector>

namespace tri::tools {

struct build_part {
  const char* name;  // for programs: "mpich"
  bool built;
  const char* detail;   // text: what it is, and why it was not built
  const char* library;  // the one that is loaded at run time; empty where there is none
};

const std::vector<build_part>& build_parts();

}  // namespace tri::tools
