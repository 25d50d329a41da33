// See shared_settings.hpp.
#include "gravity/parallel/shared_settings.hpp"

namespace gravity {

tri::read_only<run_settings> the_settings;

}  // namespace gravity
