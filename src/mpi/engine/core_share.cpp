#include "mpi/engine/core_share.hpp"

#include <ctime>

namespace tri::mpi {

std::optional<std::int64_t> processor_time_ns(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace tri::mpi
