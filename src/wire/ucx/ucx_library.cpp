#include "wire/ucx/ucx_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace tri::wire {
namespace {

void* load() {
  setenv("UCX_ERROR_SIGNALS", "", 0);
  setenv("UCX_MEM_EVENTS", "n", 0);
  setenv("UCX_LOG_FILE", "stderr", 0);
  // Never closed: UCX leaves threads' data and atexit handlers behind.
  void* const library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(fmt::format(
        "the wire between hosts, or --tri-rma=ucx, needs UCX, which cannot be loaded: {}; on Debian install libucx0",
        dlerror()));
  }
  return library;
}

}  // namespace

void* ucx_function(const char* name) {
  static void* const library = load();  // tried again by the next call when it throws
  void* const function = dlsym(library, name);
  if (function == nullptr)
    throw std::runtime_error(
        fmt::format("the libucp.so.0 of this machine has no {}; UCX 1.11 or newer is needed", name));
  return function;
}

}  // namespace tri::wire
