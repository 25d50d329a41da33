// Child processes: other programs, and functions of ours in a copy of this process. A child is a process number;
// its starter waits for its end. A child gets SIGKILL when the thread that started it ends. Linux only; any thread. But
// the child of start_function() holds all descriptors of this process until it ends, also those that start_program() or
// run_program() have open meanwhile in another thread: these then wait for its end.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "os/unique_fd.hpp"

namespace tri::os {

/// Says which program cannot be started, and why.
class start_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The path of the program as execvp() would find it. Throws start_error that says whether it is missing, a folder or
/// not executable.
std::string find_program(const std::string& name);

/// Whether find_program() finds it.
bool has_program(const std::string& name);

/// A text as one word of a POSIX shell, such as the one that a remote shell starts.
std::string shell_quoted(std::string_view text);

/// Our environment with these entries ("NAME=value"), which come first, in place of its own of the same names.
std::vector<std::string> environment_with(std::vector<std::string> entries);

/// What start_program() is to start.
struct start_request {
  std::vector<std::string> arguments;                           // with the program's name first
  std::string path{};                                           // empty: what find_program() finds by that name
  std::vector<std::string> environment = environment_with({});  // the whole one
  int input = -1;  // descriptors that become 0, 1 and 2; they stay ours; -1 = as we have them
  int output = -1;
  int error = -1;
  std::optional<sigset_t> signal_mask{};  // of the program; none = ours
  unsigned long open_files = 0;           // its soft limit (RLIMIT_NOFILE); 0 = ours
  bool own_group = false;                 // a process group, so that the terminal's signals do not reach it
};

/// SIGPIPE ends the program, whatever we do with it. Throws start_error with the system's reason when the program
/// cannot be executed.
pid_t start_program(const start_request& request);

/// Forks: the child calls `body`, which must not throw, and exits with its result, without destructors and without
/// flushing streams. Of our threads it has the calling one. Throws std::system_error.
pid_t start_function(const std::function<int()>& body);

/// Waits for the end of a child. Its status as waitpid() returns it; 0 when it is not known, because we ignore SIGCHLD.
int wait_for(pid_t child);

/// Kills a child, whatever it does, and waits for its end.
int kill_and_wait(pid_t child);

struct program_end {
  int status = 0;      // as wait_for() returns it
  std::string output;  // all that was written to its standard output
};

/// Starts the program with its standard output in a pipe, reads that until no process can write to it any more, also
/// none of those that the program has started, and waits for the program. Throws as start_program() and open_pipe() do.
program_end run_program(start_request request);

struct pipe_ends {
  unique_fd read, write;
};

/// A pipe that programs do not inherit, but for an end that a start_request names. Throws std::system_error.
pipe_ends open_pipe();

}  // namespace tri::os
