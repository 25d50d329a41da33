// The memory in which a host keeps states for a job under `trireme run --survive --hosts`: a folder in /dev/shm of the
// same path on all of them. The host's agent makes it; it outlives the agent, for the job may be started again, and
// goes at the end of the job, or when the agent finds its launcher gone. One that was left all the same is removed by a
// later agent. One thread.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "os/unique_fd.hpp"

namespace tri::launch {

/// A path for a new job.
std::string new_host_memory();

class host_memory {
 public:
  /// Makes the folder, or takes that of an earlier start of the job. Throws std::runtime_error.
  explicit host_memory(std::string path);
  /// Whether a path is of such memory, not of a folder that the user has named.
  static bool is_one(const std::string& path);
  /// Of the last checkpoint that processes of this host have noted; 0: there is none.
  std::uint64_t last_checkpoint() const;
  /// The agent ends, and the job may be started again: other agents see it as in use for a while.
  void is_left() const;
  void remove();

 private:
  const std::string path_;
  os::unique_fd lock_;  // shared: while an agent lives, it is in use
};

/// `trireme agent --forget PATH`, at the end of the job. Nothing for other paths, and for folders of other users.
void forget_host_memory(const std::string& path);
/// Does that on all hosts, through the remote shell; those that do not answer soon are left alone. `signal_mask`: what
/// the shells are to have blocked.
void forget_on_hosts(const std::vector<std::string>& remote_shell, const std::string& agent,
                     const std::vector<std::string>& hosts, const std::string& path, const sigset_t& signal_mask);

}  // namespace tri::launch
