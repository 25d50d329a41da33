// What `trireme tune` found, for people and for programs. The files are those that the options name, or none.
#pragma once

#include "tune/tuner.hpp"

namespace tri::tools {

/// A table on standard output.
void print_tuning(const tune_request& wanted, const tuning& found);
/// The schedules for later runs (TRIREME_LOOPS_TUNE, `trireme exec --tune-file`).
void write_tune_file(const tune_request& wanted, const tuning& found);
/// Time by static fraction, as a table ...
void write_curve(const tune_request& wanted, const tuning& found);
/// ... and as a picture.
void write_chart(const tune_request& wanted, const tuning& found);

}  // namespace tri::tools
