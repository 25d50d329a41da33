// In the library that leaves the functions of the OpenMP interface (omp_*) to the program's runtime. The other library
// has virtual_interface.cpp instead.
#include "omp/virtual_mode.hpp"

namespace tri::omp {

bool answers_interface() { return false; }

}  // namespace tri::omp
