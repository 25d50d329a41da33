#include <cstdio>
#include <cstdlib>

#include "fuzz/fuzz_target.hpp"

namespace tri::fuzz {

void broken(const std::string& promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

}  // namespace tri::fuzz
