// The version text comes from project() in CMakeLists.txt, so that it is written in one place only.
#include "trireme/version.hpp"

namespace tri {

std::string_view version() noexcept { return TRIREME_VERSION; }

}  // namespace tri
