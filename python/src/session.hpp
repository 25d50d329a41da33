// The run of this interpreter: the job that its main thread joins, as the one PE of its process, and leaves when the
// interpreter exits.
//
// tri::run_everywhere calls a main program and ends the run when that returns; but a script is called by the
// interpreter, not by us. So run_everywhere has a stack of its own: its main program switches back to the script, and
// returns when the session is ended. Both stacks belong to one thread, the PE. No Python code runs on the second one.
#pragma once

#include <string>
#include <vector>

namespace tri::python {

class session {
 public:
  session() = delete;

  /// Joins the job; collective over its processes. Removes the runtime's options from `arguments`, whose first is the
  /// name of the program. Throws std::logic_error when the run has begun already, std::runtime_error when it cannot.
  static void start(std::vector<std::string>& arguments);
  /// In the process that has started it, until its end; not in forked children.
  static bool is_running();
  /// It is running, and the caller is its PE: not so on other threads.
  static bool is_here();
  /// In the process that has started it: nothing is under way any more, and the memory of arrays is gone.
  static bool has_ended();
  /// The parent of this process has started it.
  static bool is_of_parent();
  /// Throws std::logic_error when there is no run, or the caller is not its PE.
  static void check_running();
  /// For a call that has thrown stop_unwinding: the status of the job that was stopped. The script is unwound then, and
  /// may look at its arrays meanwhile, so the run stays until end().
  static int status_of_stop();
  /// Leaves the job with this status and waits for the other processes; returns the status of the job.
  static int end(int status);
};

/// While it exists, other threads may run Python code, and this one must not.
class interpreter_released {
 public:
  interpreter_released();
  ~interpreter_released();
  interpreter_released(const interpreter_released&) = delete;
  interpreter_released& operator=(const interpreter_released&) = delete;

 private:
  void* state_;
};

}  // namespace tri::python
