// Which parts of Trireme this build has: what `trireme info` tells, and `trireme exec` when a library is not there.
#pragma once

#include <vector>

namespace tri::tools {

struct build_part {
  const char* name;  // for programs: "mpich"
  bool built;
  const char* detail;   // for people: what it is, and why it was not built
  const char* library;  // the one that is loaded at run time; empty where there is none
};

const std::vector<build_part>& build_parts();

}  // namespace tri::tools
