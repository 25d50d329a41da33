#include "mpi/heap/job/job_name.hpp"

#include <sys/socket.h>
#include <unistd.h>
#include <cstdint>

#include "os/hash.hpp"

namespace tri::mpi {
namespace {

constexpr std::size_t longest_name = 48;

text_line named(std::string_view kind, std::string_view name) {
  text_line line;
  line << kind;
  if (name.size() <= longest_name - kind.size())
    line << name;
  else
    line.hexadecimal(os::hashed(name));
  return line;
}

}  // namespace

pid_t process_behind(std::string_view connection) {
  int descriptor = connection.empty() ? -1 : 0;
  for (const char digit : connection) {
    if (digit < '0' || digit > '9' || descriptor > 1000000) return 0;
    descriptor = descriptor * 10 + (digit - '0');
  }
  ucred maker{};
  socklen_t length = sizeof(maker);
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &maker, &length) == 0 ? maker.pid : 0;
}

text_line job_name(const start_environment& environment) {
  if (const auto name = environment["TRIREME_MPI_JOB"]; !name.empty()) return named("", name);
  if (const auto job = environment["PMIX_NAMESPACE"]; !job.empty()) return named("pmix-", job);
  if (const auto job = environment["OMPI_MCA_ess_base_jobid"]; !job.empty()) return named("ompi-", job);
  const auto connection = environment["PMI_FD"];
  if (!connection.empty() || !environment["PMI_ID"].empty() || !environment["PMI_PORT"].empty()) {
    // Without its connection the parent, which is the same unless a wrapper forked.
    const pid_t launcher = process_behind(connection);
    text_line line;
    line << "hydra-" << static_cast<std::uint64_t>(launcher > 0 ? launcher : getppid());
    return line;
  }
  const auto job = environment["SLURM_JOB_ID"];
  if (const auto step = environment["SLURM_STEP_ID"]; !job.empty() && !step.empty()) {
    text_line both;
    both << job << "." << step;
    return named("slurm-", both.view());
  }
  return {};
}

}  // namespace tri::mpi
