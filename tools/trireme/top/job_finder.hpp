// The running jobs of this user on this host, found through /proc: no file and no socket names them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "top/live_process.hpp"

namespace tri::tools {

/// Its processes on this host, by number; at least one.
struct live_job {
  std::vector<std::unique_ptr<live_process>> processes;

  /// What users name it by: the pid of its first process here.
  pid_t number() const { return processes.front()->pid(); }
  const live::page& page() const { return processes.front()->page(); }
  const std::string& program() const { return processes.front()->program(); }
  int rows() const;
  double age_s() const;
};

struct found_jobs {
  std::vector<live_job> jobs;         // by number
  std::vector<std::string> problems;  // processes of jobs that cannot be read
};
/// `kind`: only of this.
found_jobs find_jobs(std::optional<live::job_kind> kind);

/// As users and JSON name it: "objects" or "mpi".
const char* name_of(live::job_kind kind);
/// Nothing for an empty name: any kind.
std::optional<live::job_kind> kind_named(std::string_view name);

/// Whether the process has started the job, or is one of it.
bool is_started_by(const live_job& job, pid_t process);
/// The job of a process: of one of its own, or of one that started it, such as `trireme run`. Throws
/// std::runtime_error with a text for the user.
live_job job_of(pid_t pid, std::optional<live::job_kind> kind);
/// Adds processes of the job that have begun on this host since it was found, and returns where they stand in
/// `processes`, in order. Looks only while some are missing and the job is young: later, those are elsewhere.
std::vector<std::size_t> find_more(live_job& job);

}  // namespace tri::tools
