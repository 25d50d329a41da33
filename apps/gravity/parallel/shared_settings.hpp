// The settings as every PE reads them: published once by the main program, one copy per process.
#pragma once

#include "gravity/settings.hpp"
#include "trireme/objects.hpp"

namespace gravity {

extern tri::read_only<run_settings> the_settings;

}  // namespace gravity
