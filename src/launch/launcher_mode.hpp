// The mode of a process while it starts and monitors a job's processes: signals arrive through a descriptor, orphans of
// the job become its children, the limit of open files is raised, and a closed pipe does not kill. Undone at the end.
// One object, main thread.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include "os/unique_fd.hpp"

namespace tri::launch {

class launcher_mode {
 public:
  // `further`: a signal that arrives through the descriptor, too, although others of this kind end the process; 0:
  // none. `mask_of_children`: what they are to have blocked; null: what is blocked now. Throws std::system_error.
  explicit launcher_mode(int further = 0, const sigset_t* mask_of_children = nullptr);
  launcher_mode(const launcher_mode&) = delete;
  launcher_mode& operator=(const launcher_mode&) = delete;
  ~launcher_mode();

  int signals() const { return signals_.get(); }                          // a signalfd, not blocking
  const sigset_t& mask_of_children() const { return mask_of_children_; }  // without `further`, which is none of theirs
  unsigned long files_before() const { return files_before_.rlim_cur; }

 private:
  os::unique_fd signals_;
  sigset_t mask_before_{};
  sigset_t mask_of_children_{};
  rlimit files_before_{};
  int subreaper_before_ = 0;
  void (*pipe_action_before_)(int) = SIG_DFL;
};

}  // namespace tri::launch
