#include "mpi/slack/wait_time_reports.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "omp/slack_entry.h"
#include "os/clock.hpp"
#include "os/loaded_objects.hpp"

namespace tri::mpi_slack {
namespace {

constexpr int missing_function_status = 127;

thread_local int depth [[gnu::tls_model("initial-exec")]] = 0;

using report_function = decltype(&trireme_slack_waited);
// The drop-in for OpenMP, if it is loaded: both are loaded at the start of the program.
report_function receiver() {
  static const auto found = reinterpret_cast<report_function>(dlsym(RTLD_DEFAULT, "trireme_slack_waited"));
  return found;
}

}  // namespace

void* find_profiled(const char* name) {
  if (void* const found = dlsym(RTLD_DEFAULT, name)) return found;
  for (const std::string& object : os::loaded_objects()) {
    if (void* const found = os::find_in_object(object.c_str(), name)) return found;
  }
  std::fprintf(stderr,
               "trireme mpi-slack: the program calls %s, but no MPI library that is loaded has %s. Run it "
               "with another schedule than `slack` and `combo`: then MPI calls are left alone.\n",
               name + 1, name);
  _exit(missing_function_status);
}

blocking_call::blocking_call(const char* operation, std::int64_t count) : operation_(operation), count_(count) {
  if (depth++ == 0) began_ = os::now_ns();
}

blocking_call::~blocking_call() {
  if (--depth > 0) return;
  if (const report_function report = receiver()) {
    report(operation_, count_ > 0 ? static_cast<std::uint64_t>(count_) : 0, static_cast<double>(os::now_ns() - began_));
  }
}

}  // namespace tri::mpi_slack
