// The figures of a job's processes on the host of an agent, for those who watch the job through its launcher. One
// thread: the agent's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "top/job_figures.hpp"
#include "top/job_finder.hpp"

namespace tri::tools {

class agent_figures {
 public:
  /// What happened since the last answer to this watcher, as JSON: the figures of `trireme top --json`, or
  /// {"problem": text}. `kind`: "objects", "mpi", or empty.
  std::string answer(int watcher, const std::string& kind);

 private:
  struct looker {
    job_reading before;
    std::int64_t at_ns = 0;
  };
  struct watched {
    live_job job;
    std::map<int, looker> lookers;
  };
  std::map<std::string, watched> jobs_;  // by kind
};

}  // namespace tri::tools
