// The calls that begin MPI. If the drop-in predicts slack by one number for everything, that is found here: a thousand
// all-reduces of four bytes right after the begin, each of which waits for the last process (V. Kale, PhD dissertation,
// Illinois 2015, section 4.4). As in blocking_calls.cpp arguments are words; handles are written the way the MPI
// library that is loaded writes them.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "mpi/slack/wait_time_reports.hpp"
#include "omp/slack_entry.h"
#include "os/clock.hpp"

namespace {

using word = std::uint64_t;
using tri::mpi_slack::find_profiled;
using tri::mpi_slack::profiled_function;

constexpr int trial_reductions = 1000;

struct handles {
  word world, integer, sum;
};

// False: it writes them in no way that we know.
bool find_handles(handles& found) {
  char version[16384] = {};  // more than any library requires
  int length = 0;
  reinterpret_cast<int (*)(char*, int*)>(find_profiled("PMPI_Get_library_version"))(version, &length);
  if (std::strstr(version, "Open MPI") != nullptr) {  // pointers to objects of the library
    const auto object = [](const char* name) { return reinterpret_cast<word>(find_profiled(name)); };
    found = {object("ompi_mpi_comm_world"), object("ompi_mpi_int"), object("ompi_mpi_op_sum")};
    return true;
  }
  // MPICH and those that keep its binary interface: numbers.
  for (const char* name : {"MPICH", "MVAPICH", "Intel(R) MPI", "CRAY MPICH"}) {
    if (std::strstr(version, name) == nullptr) continue;
    found = {0x44000000, 0x4c000405, 0x58000003};
    return true;
  }
  const char* const end = std::strchr(version, '\n');
  std::fprintf(stderr,
               "trireme mpi-slack: TRIREME_SLACK=naive cannot make its trial with this MPI library (%.*s); say "
               "naive=MICROSECONDS instead. Until then no slack is predicted.\n",
               static_cast<int>(end != nullptr ? end - version : length), version);
  return false;
}

// Once, by the thread that has initialized MPI.
void make_trial() {
  const auto wanted =
      reinterpret_cast<decltype(&trireme_slack_wants_trial)>(dlsym(RTLD_DEFAULT, "trireme_slack_wants_trial"));
  const auto tell = reinterpret_cast<decltype(&trireme_slack_of_trial)>(dlsym(RTLD_DEFAULT, "trireme_slack_of_trial"));
  static std::atomic<bool> made{false};
  if (wanted == nullptr || tell == nullptr || wanted() == 0 || made.exchange(true)) return;
  handles with{};
  if (!find_handles(with)) return;
  const auto reduce =
      reinterpret_cast<int (*)(const void*, void*, word, word, word, word)>(find_profiled("PMPI_Allreduce"));
  std::int64_t waited = 0;
  for (int trial = 0; trial < trial_reductions; ++trial) {
    const std::int32_t mine = trial;
    std::int32_t sum = 0;
    const std::int64_t began = tri::os::now_ns();
    reduce(&mine, &sum, 1, with.integer, with.sum, with.world);
    waited += tri::os::now_ns() - began;
  }
  tell(static_cast<double>(waited) / trial_reductions);
}

}  // namespace

#define TRIREME_PUBLIC extern "C" [[gnu::visibility("default")]]

TRIREME_PUBLIC int MPI_Init(word argc, word argv) {
  static profiled_function profiled("PMPI_Init");
  const int status = reinterpret_cast<int (*)(word, word)>(profiled.get())(argc, argv);
  if (status == 0) make_trial();
  return status;
}
TRIREME_PUBLIC int MPI_Init_thread(word argc, word argv, word required, word provided) {
  static profiled_function profiled("PMPI_Init_thread");
  const int status = reinterpret_cast<int (*)(word, word, word, word)>(profiled.get())(argc, argv, required, provided);
  if (status == 0) make_trial();
  return status;
}
// The trial only if that succeeded: the error code is behind the last argument.
TRIREME_PUBLIC void mpi_init_(std::int32_t* error) {
  static profiled_function profiled("pmpi_init_");
  reinterpret_cast<void (*)(std::int32_t*)>(profiled.get())(error);
  if (*error == 0) make_trial();
}
TRIREME_PUBLIC void mpi_init_thread_(word required, word provided, std::int32_t* error) {
  static profiled_function profiled("pmpi_init_thread_");
  reinterpret_cast<void (*)(word, word, std::int32_t*)>(profiled.get())(required, provided, error);
  if (*error == 0) make_trial();
}
