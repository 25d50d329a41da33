// The OpenMP runtime that the compiler brings (libgomp for g++, libomp for clang), or another one that was preloaded in
// its place and answers to the same names.
#include <dlfcn.h>
#include <omp.h>

#include <filesystem>

#include "loops/competitor_of.hpp"

namespace tri::bench {
namespace {

class openmp_runtime {
 public:
  explicit openmp_runtime(const comparison_setup&) {}  // the environment sets the threads and their places
  static std::string name() {
    // The library that answers, not the one that was linked.
    Dl_info found{};
    void* const symbol = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    if (symbol == nullptr || dladdr(symbol, &found) == 0 || found.dli_fname == nullptr) return "openmp";
    const std::string file = std::filesystem::path(found.dli_fname).filename().string();
    return file.substr(0, file.find_first_of(".-"));
  }
  static std::vector<std::string> schedules() { return {"static", "dynamic", "dynamic,8", "dynamic,64", "guided"}; }

  template <class Body>
  void loop(std::size_t schedule, std::size_t, int n, const Body& body) {
    switch (schedule) {
      case 0:
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; ++i) body(i);
        break;
      case 1:
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < n; ++i) body(i);
        break;
      case 2:
#pragma omp parallel for schedule(dynamic, 8)
        for (int i = 0; i < n; ++i) body(i);
        break;
      case 3:
#pragma omp parallel for schedule(dynamic, 64)
        for (int i = 0; i < n; ++i) body(i);
        break;
      default:
#pragma omp parallel for schedule(guided)
        for (int i = 0; i < n; ++i) body(i);
        break;
    }
  }

  // One region for all steps; the end of each loop is a barrier.
  template <class Body>
  void region(std::size_t schedule, std::uint32_t steps, int n, const Body& body) {
#pragma omp parallel
    for (std::uint32_t step = 0; step < steps; ++step) share(schedule, n, [&body, step](int i) { body(step, i); });
  }

 private:
  template <class Body>
  static void share(std::size_t schedule, int n, const Body& body) {
    switch (schedule) {
      case 0:
#pragma omp for schedule(static)
        for (int i = 0; i < n; ++i) body(i);
        break;
      case 1:
#pragma omp for schedule(dynamic)
        for (int i = 0; i < n; ++i) body(i);
        break;
      case 2:
#pragma omp for schedule(dynamic, 8)
        for (int i = 0; i < n; ++i) body(i);
        break;
      case 3:
#pragma omp for schedule(dynamic, 64)
        for (int i = 0; i < n; ++i) body(i);
        break;
      default:
#pragma omp for schedule(guided)
        for (int i = 0; i < n; ++i) body(i);
        break;
    }
  }
};

}  // namespace

}  // namespace tri::bench

// What competitor.cpp looks for in this module.
extern "C" [[gnu::visibility("default")]] tri::bench::competitor* make_openmp_competitor(
    const tri::bench::comparison_setup& setup) {
  return new tri::bench::competitor_of<tri::bench::openmp_runtime>(setup);
}
