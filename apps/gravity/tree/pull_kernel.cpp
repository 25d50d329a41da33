// Chooses the variant of the pull kernels at run time.
#include "gravity/tree/pull_kernel.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace gravity {
namespace kernel {
extern const pull_kernels generic_kernels;
#if defined(__x86_64__)
extern const pull_kernels avx2_kernels;
#endif
}  // namespace kernel

const pull_kernels& choose_kernels(std::string_view name) {
  std::vector<const pull_kernels*> usable;  // the fastest first
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) usable.push_back(&kernel::avx2_kernels);
#endif
  usable.push_back(&kernel::generic_kernels);
  std::string names = "auto";
  for (const pull_kernels* const each : usable) {
    if (name == "auto" || name == each->name) return *each;
    names += fmt::format(", {}", each->name);
  }
  throw std::invalid_argument(
      fmt::format("kernel variant '{}' is unknown or not supported by this processor; possible here: {}", name, names));
}

}  // namespace gravity
