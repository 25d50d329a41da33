// How fast strided data moves: layouts of src/mpi/datatypes/layout, memcpy of as many contiguous bytes, and every MPI
// library that is installed, taking turns batch by batch in one run on one core. Prints GB/s (packed bytes, medians
// over the rounds) and, in brackets, the tenth and ninetieth percentile of ours.
//   mpi_layout_bench [cpu [rounds]]
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "framework/statistics.hpp"
#include "mpi_layout/shapes.hpp"
#include "os/child_process.hpp"

namespace {

using namespace tri::bench;

// A process that measures on request.
class competitor {
 public:
  competitor(std::string name, std::vector<std::string> command) : name_(std::move(name)) {
    tri::os::pipe_ends to_child = tri::os::open_pipe(), from_child = tri::os::open_pipe();
    process_ = tri::os::start_program(
        {.arguments = std::move(command), .input = to_child.read.get(), .output = from_child.write.get()});
    out_ = fdopen(to_child.write.release(), "w");
    in_ = fdopen(from_child.read.release(), "r");
  }
  ~competitor() {
    std::fclose(out_);
    std::fclose(in_);
    tri::os::wait_for(process_);
  }
  competitor(const competitor&) = delete;
  competitor& operator=(const competitor&) = delete;

  double nanoseconds(const std::string& shape, const std::string& way, long operations) {
    ask(shape, way, operations);
    double elapsed = 0;
    if (std::fscanf(in_, "%lf", &elapsed) != 1) throw std::runtime_error(name_ + " does not answer");
    return elapsed;
  }
  const std::string& name() const { return name_; }

 protected:
  void ask(const std::string& shape, const std::string& way, long operations) {
    std::fprintf(out_, "%s %s %ld\n", shape.c_str(), way.c_str(), operations);
    std::fflush(out_);
  }

 private:
  std::string name_;
  pid_t process_ = -1;
  FILE* out_ = nullptr;
  FILE* in_ = nullptr;
};

constexpr double batch_ns = 2e6;

void run(int rounds) {
  const std::string folder = TRIREME_BENCH_PROGRAMS;
  std::vector<std::unique_ptr<competitor>> all;
  all.push_back(std::make_unique<competitor>("ours", std::vector{folder + "/mpi_layout_competitor"}));
  all.push_back(
      std::make_unique<competitor>("memcpy", std::vector<std::string>{folder + "/mpi_layout_competitor", "--memcpy"}));
  for (const char* abi : std::initializer_list<const char*>{TRIREME_BENCH_ABIS})
    all.push_back(std::make_unique<competitor>(abi, std::vector{folder + "/mpi_competitor_" + abi}));
  std::printf("%-12s %-7s", "shape", "way");
  for (const auto& one : all) std::printf(" %16s", one->name().c_str());
  std::printf("   GB/s\n");
  for (const strided_shape& shape : strided_shapes) {
    const std::string name(shape.name);
    for (const std::string way : {"pack", "unpack", "copy"}) {
      std::vector<long> operations;
      for (const auto& one : all) {
        // The fastest of several, so that a batch is not short because the machine was busy when it was planned.
        double fastest = one->nanoseconds(name, way, 1);
        for (int attempt = 0; attempt < 10; ++attempt) fastest = std::min(fastest, one->nanoseconds(name, way, 2) / 2);
        operations.push_back(std::max(1L, static_cast<long>(batch_ns / fastest)));
      }
      std::vector<std::vector<double>> speeds(all.size());
      for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < all.size(); ++i)
          speeds[i].push_back(static_cast<double>(shape.bytes) * static_cast<double>(operations[i]) /
                              all[i]->nanoseconds(name, way, operations[i]));
      std::printf("%-12s %-7s", name.c_str(), way.c_str());
      for (std::size_t i = 0; i < all.size(); ++i) {
        const summary found = summarize(speeds[i]);
        if (i == 0)
          std::printf(" %5.2f [%4.1f %4.1f]", found.median, found.p10, found.p90);
        else
          std::printf(" %16.2f", found.median);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  std::printf("%d rounds of about %.0f ms each\n", rounds, batch_ns / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 41;
  if (argc > 1) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(std::atoi(argv[1])), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
      std::fprintf(stderr, "mpi_layout_bench: cannot run on CPU %s\n", argv[1]);
      return 1;
    }
  }
  try {
    run(rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_layout_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
