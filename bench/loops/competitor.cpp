#include "loops/competitor.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/prctl.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace tri::bench {

namespace {

// The OpenMP competitor is a module of its own: linked, its runtime would start with every `trireme` command, read
// OMP_* variables that are meant for the user's program and complain about ours.
std::unique_ptr<competitor> load_openmp_competitor(const comparison_setup& setup) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& folder : {program / "../lib", program / TRIREME_LIBRARY_FOLDER, program / TRIREME_BENCH_MODULES}) {
    const std::string path = (folder / "libtrireme-bench-openmp.so").lexically_normal();
    if (!std::filesystem::exists(path)) continue;
    void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (module == nullptr) throw std::runtime_error(fmt::format("bench loops: {}", dlerror()));
    const auto make =
        reinterpret_cast<competitor* (*)(const comparison_setup&)>(dlsym(module, "make_openmp_competitor"));
    if (make == nullptr) throw std::runtime_error(fmt::format("bench loops: {}: {}", path, dlerror()));
    return std::unique_ptr<competitor>(make(setup));
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> competitors() {
  std::vector<std::string> names = {"trireme"};
#ifdef TRIREME_BENCH_OPENMP
  names.emplace_back("openmp");
#endif
#ifdef TRIREME_BENCH_TBB
  names.emplace_back("tbb");
#endif
  names.emplace_back("steps");
  return names;
}

std::unique_ptr<competitor> make_competitor(std::string_view which, const comparison_setup& setup) {
  std::unique_ptr<competitor> made;
  if (which == "trireme") made = trireme_competitor(setup);
  if (which == "openmp") made = load_openmp_competitor(setup);
  if (which == "tbb") made = tbb_competitor(setup);
  if (which == "steps") made = steps_competitor(setup);
  if (made == nullptr) throw std::invalid_argument(fmt::format("this build has no loop competitor '{}'", which));
  return made;
}

// Lines: "setup steps_per_us first_cpu second_cpu" -> name and schedules, one a line, then an empty line;
// "run kernel schedule warm_up loops first" -> "loop_ns disturbed difference wrong"; "shared schedule" -> the part.
int serve_as_competitor(const std::string& which) {
  // Between its batches the process is stopped, and could not see that its parent has gone.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::unique_ptr<competitor> self;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "setup") {
      comparison_setup setup;
      words >> setup.steps_per_us >> setup.first_cpu >> setup.second_cpu;
      self = make_competitor(which, setup);
      fmt::print("{}\n", self->name());
      for (const std::string& schedule : self->schedules()) fmt::print("{}\n", schedule);
      fmt::print("\n");
    } else if (verb == "run" && self != nullptr) {
      batch_request request;
      std::uint32_t number = 0;
      words >> number >> request.schedule >> request.warm_up >> request.loops >> request.first;
      request.which = static_cast<kernel>(number);
      const batch_reply reply = self->run(request);
      fmt::print("{} {:d} {} {:d}\n", reply.loop_ns, reply.disturbed, reply.difference, reply.wrong);
    } else if (verb == "shared" && self != nullptr) {
      std::size_t schedule = 0;
      words >> schedule;
      fmt::print("{}\n", self->shared_part(schedule));
    } else {
      throw std::logic_error(fmt::format("a loop competitor was asked '{}'", line));
    }
    std::fflush(stdout);
  }
  // Pools of other runtimes need not be taken down.
  std::_Exit(0);
}

}  // namespace tri::bench
