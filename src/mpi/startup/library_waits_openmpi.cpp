// Every wait inside Open MPI calls opal_progress, and that a list of functions, to which the library's own parts add
// theirs.
#include <dlfcn.h>

#include "mpi/startup/library_calls.hpp"

namespace tri::mpi::library_waits {
namespace {

using callback = int();
using registration = int (*)(callback*);

// Returns how many events there were.
int progress() { return library_call::progress() ? 1 : 0; }

void call(const char* function) {
  if (const auto found = reinterpret_cast<registration>(dlsym(RTLD_DEFAULT, function))) found(&progress);
}

}  // namespace

void start() { call("opal_progress_register"); }
void stop() { call("opal_progress_unregister"); }

}  // namespace tri::mpi::library_waits
