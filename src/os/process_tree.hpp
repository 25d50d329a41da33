// Starting programs and finding everything they left behind. Used by the launcher only, which is a "subreaper": a
// process that loses its parent below it becomes its child, so a walk through /proc from the launcher finds every
// process of the job, also daemons that changed their session. Linux only. One thread.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tri::host {

class start_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The path of the program as execvp() would find it. Throws start_error that says whether it is missing, a folder or
// not executable.
std::string find_program(const std::string& name);

struct start_request {
  std::string path;
  std::vector<std::string> arguments;    // with the program's name first
  std::vector<std::string> environment;  // the whole one, "NAME=value"
  int input = -1;                        // descriptors that become 0, 1 and 2; -1 = as we have them
  int output = -1;
  int error = -1;
  sigset_t signal_mask;          // of the program
  unsigned long open_files = 0;  // its soft limit (RLIMIT_NOFILE)
  bool own_group = false;        // a process group of its own, so that the terminal's signals do not reach it
};

// The process gets SIGKILL when the calling thread ends. Throws start_error with the system's reason when the program
// cannot be executed.
pid_t start_program(const start_request& request);

// 0 when there is no such process.
pid_t parent_of(pid_t process);

// It has begun to end, by whatever, and will be reaped: the kernel closes its descriptors before its parent hears of
// it.
bool is_exiting(pid_t process);

// All living descendants of this process, parents before their children; zombies are left out.
std::vector<pid_t> descendants();

// Sends to all descendants except `spared` and what descends from it (0: none); says how many there were.
std::size_t signal_descendants(int signal, pid_t spared);

// Everything that still descends from this process: first asked, then killed, until there is nobody left; reaps its
// children. meanwhile() is called again and again.
void end_descendants(const std::function<void()>& meanwhile);

}  // namespace tri::host
