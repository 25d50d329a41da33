// Begin and end of the library in a process. It is loaded into every program that the user's program starts as well, so
// that it does next to nothing until an OpenMP loop comes.
#include <pthread.h>

#include "omp/call_sites.hpp"
#include "omp/settings.hpp"

namespace tri::omp {
namespace {

[[gnu::constructor]] void loaded() {
  if (the_settings().report) pthread_atfork(nullptr, nullptr, &forget_counts);
}

[[gnu::destructor]] void unloaded() {
  const settings& values = the_settings();
  if (values.report) print_report(values.schedule_text().c_str(), values.report_always);
}

}  // namespace
}  // namespace tri::omp
