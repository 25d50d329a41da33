#include "omp/slack_entry.h"

#include "omp/settings.hpp"
#include "trireme/slack.hpp"

extern "C" [[gnu::visibility("default")]] void trireme_slack_waited(const char* operation, uint64_t count,
                                                                    double nanoseconds) {
  using namespace tri;
  const omp::settings& wanted = omp::the_settings();
  if (!wanted.uses_slack || wanted.slack.by == slack::history::off) return;
  const std::uint64_t path = wanted.slack.by == slack::history::call_path ? slack::call_path() : 0;
  slack::of_this_process().waited({slack::operation_type(operation), path, count}, nanoseconds);
}

extern "C" [[gnu::visibility("default")]] int trireme_slack_wants_trial(void) {
  const tri::omp::settings& wanted = tri::omp::the_settings();
  return wanted.uses_slack && wanted.measures_naive_slack ? 1 : 0;
}

extern "C" [[gnu::visibility("default")]] void trireme_slack_of_trial(double nanoseconds) {
  tri::slack::of_this_process().set_naive(nanoseconds);
}
