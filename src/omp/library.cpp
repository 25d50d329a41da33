// Load and unload of the library in a process. It is also loaded into every program that the user's program starts, so
// it does next to nothing before the first OpenMP loop.
#include <pthread.h>

#include "omp/call_sites.hpp"
#include "omp/fibers/virtual_mode.hpp"
#include "omp/settings.hpp"
#include "trireme/slack.hpp"

namespace tri::omp {
namespace {

[[gnu::constructor]] void loaded() {
  const settings& values = the_settings();
  if (values.uses_slack) {
    slack::of_this_process().set(values.slack);
    slack::of_this_process().set_naive(1000.0 * values.naive_slack_us);
  }
  if (values.report) {
    pthread_atfork(nullptr, nullptr, &forget_counts);
    pthread_atfork(nullptr, nullptr, &forget_virtual_counts);
  }
  read_virtual_request();
}

[[gnu::destructor]] void unloaded() {
  const settings& values = the_settings();
  if (!values.report) return;
  print_report(values.schedule_text().c_str(), values.report_always);
  print_virtual_report();
}

}  // namespace
}  // namespace tri::omp
