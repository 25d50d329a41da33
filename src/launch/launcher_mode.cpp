#include "launch/launcher_mode.hpp"

#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace tri::launch {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

launcher_mode::launcher_mode(int further, const sigset_t* mask_of_children) {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int each : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action {};
    sigaction(each, nullptr, &action);
    if (each == SIGCHLD || action.sa_handler != SIG_IGN)
      sigaddset(&handled, each);  // nohup and `&` ignore some: so do we
  }
  if (further != 0) sigaddset(&handled, further);
  if (sigprocmask(SIG_BLOCK, &handled, &mask_before_) != 0) fail("cannot block signals");
  mask_of_children_ = mask_of_children != nullptr ? *mask_of_children : mask_before_;
  if (further != 0) sigdelset(&mask_of_children_, further);
  signals_ = os::unique_fd(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) fail("cannot open a signalfd");
  if (prctl(PR_GET_CHILD_SUBREAPER, &subreaper_before_) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    fail("cannot become the reaper of the job's processes");
  getrlimit(RLIMIT_NOFILE, &files_before_);
  rlimit raised = files_before_;  // a socket, an arena and perhaps two pipes for each process
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  pipe_action_before_ = std::signal(SIGPIPE, SIG_IGN);
}

launcher_mode::~launcher_mode() {
  std::signal(SIGPIPE, pipe_action_before_);
  setrlimit(RLIMIT_NOFILE, &files_before_);
  prctl(PR_SET_CHILD_SUBREAPER, subreaper_before_);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace tri::launch
