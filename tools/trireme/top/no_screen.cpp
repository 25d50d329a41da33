#include <stdexcept>

#include "top/screen.hpp"

namespace tri::tools {

bool has_screen() { return false; }

bool watch(job_watch&, double) { throw std::runtime_error("built without ncurses"); }

}  // namespace tri::tools
