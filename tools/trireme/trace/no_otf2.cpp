#include <stdexcept>

#include "trace/otf2_archive.hpp"

namespace tri::tools {

bool has_otf2() { return false; }

void write_otf2(const std::string&, const trace_folder&, const std::vector<message_path>&) {
  throw std::runtime_error(
      "--otf2: this command was built without OTF2; install libotf2-trace-dev and build it again (--json needs "
      "nothing)");
}

}  // namespace tri::tools
