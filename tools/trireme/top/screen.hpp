// The view of a job that refreshes in a terminal. Where ncurses was not there when the command was built, only
// `has_screen` is false and `watch` throws (no_screen.cpp).
#pragma once

#include "top/job_watch.hpp"

namespace tri::tools {

bool has_screen();

/// Until the user presses q, or the job ends: then true. Throws std::runtime_error when the terminal cannot be used.
bool watch(job_watch& job, double interval_s);

}  // namespace tri::tools
