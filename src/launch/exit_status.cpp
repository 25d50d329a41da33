#include "launch/exit_status.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>

namespace tri::launch {

std::string describe_exit(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* const name = sigdescr_np(signal);
    return fmt::format("ended by signal {} ({}){}", signal, name != nullptr ? name : "unnamed",
                       WCOREDUMP(wait_status) ? ", core dumped" : "");
  }
  return fmt::format("changed its state (wait status {:#x})", wait_status);
}

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace tri::launch
