#include "mpi_slack/waiting_time.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "host/clock.hpp"
#include "omp/slack_entry.h"

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
  std::vector<std::string> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/') {
          static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &objects);
  for (const std::string& object : objects) {
    void* const handle = dlopen(object.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* const found = dlsym(handle, name);
    dlclose(handle);
    if (found != nullptr) return found;
  }
  std::fprintf(stderr,
               "trireme mpi-slack: the program calls %s, but no MPI library that is loaded has %s. Run it "
               "with another schedule than `slack` and `combo`: then MPI calls are left alone.\n",
               name + 1, name);
  _exit(missing_function_status);
}

blocking_call::blocking_call(const char* operation, std::int64_t count) : operation_(operation), count_(count) {
  if (depth++ == 0) began_ = host::now_ns();
}

blocking_call::~blocking_call() {
  if (--depth > 0) return;
  if (const report_function report = receiver()) {
    report(operation_, count_ > 0 ? static_cast<std::uint64_t>(count_) : 0,
           static_cast<double>(host::now_ns() - began_));
  }
}

}  // namespace tri::mpi_slack
