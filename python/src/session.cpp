#include <Python.h>
// Python.h comes first: it defines macros of the C library.
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>

#include "session.hpp"
#include "trireme/detail/sched/runtime.hpp"
#include "trireme/run.hpp"

namespace tri::python {
namespace {

constexpr std::size_t stack_bytes = std::size_t{8} << 20;  // as a thread's; pages are taken when they are used
constexpr std::size_t guard_bytes = std::size_t{64} << 10;

/// Memory for the second stack, behind pages whose access is a fault.
class guarded_stack {
 public:
  guarded_stack()
      : begin_(mmap(nullptr, guard_bytes + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(static_cast<char*>(begin_) + guard_bytes, stack_bytes, PROT_READ | PROT_WRITE) != 0) {
      munmap(begin_, guard_bytes + stack_bytes);
      throw std::bad_alloc();
    }
  }
  ~guarded_stack() { munmap(begin_, guard_bytes + stack_bytes); }
  guarded_stack(const guarded_stack&) = delete;
  guarded_stack& operator=(const guarded_stack&) = delete;
  void* usable() const { return static_cast<char*>(begin_) + guard_bytes; }

 private:
  void* begin_;
};

struct run_of_process {
  guarded_stack stack;
  ucontext_t script;
  ucontext_t runtime;
  std::vector<char*> arguments;  // ends with null
  int count = 0;
  pid_t process = getpid();
  // Its main program has begun, and not returned. Written without the interpreter's lock, so atomic for other threads.
  std::atomic<bool> is_running{false};
  bool has_ended = false;  // run_everywhere has returned
  int status = 0;          // of this process, then of the job
  std::string fault;
};
std::unique_ptr<run_of_process> the_run;

int main_program(run_of_process& run) {
  if (pes_per_process() != 1) {  // all PEs of the process see that, each on its thread
    if (sched::this_pe().local_number() == 0)
      run.fault = "a Python program has one PE in each process, but --pes (or TRIREME_PES) asks for " +
                  std::to_string(pes_per_process()) + ": start more processes instead (trireme run -n)";
    return 1;
  }
  run.is_running = true;
  swapcontext(&run.runtime, &run.script);
  run.is_running = false;
  return run.status;
}

void on_second_stack() {
  run_of_process& run = *the_run;
  run.status = run_everywhere(run.count, run.arguments.data(), [&run] { return main_program(run); });
}

void switch_to_runtime(run_of_process& run) {
  const interpreter_released released;
  swapcontext(&run.script, &run.runtime);
}

bool is_of_this_process() { return the_run != nullptr && the_run->process == getpid(); }

}  // namespace

void session::start(std::vector<std::string>& arguments) {
  if (the_run != nullptr)
    throw std::logic_error(the_run->is_running ? "trireme has been started already"
                                               : "trireme has ended in this process, and cannot be started again");
  the_run = std::make_unique<run_of_process>();
  run_of_process& run = *the_run;
  // One PE unless the user asks for another number, which is refused: the default is one for each core.
  std::string one_pe = "--tri-pes=1";
  run.arguments.push_back(arguments.front().data());
  if (std::getenv("TRIREME_PES") == nullptr) run.arguments.push_back(one_pe.data());
  for (std::size_t i = 1; i < arguments.size(); ++i) run.arguments.push_back(arguments[i].data());
  run.count = static_cast<int>(run.arguments.size());
  run.arguments.push_back(nullptr);

  getcontext(&run.runtime);
  run.runtime.uc_stack.ss_sp = run.stack.usable();
  run.runtime.uc_stack.ss_size = stack_bytes;
  run.runtime.uc_link = &run.script;
  makecontext(&run.runtime, &on_second_stack, 0);
  switch_to_runtime(run);
  if (!run.is_running) {
    const std::string fault =
        run.fault.empty() ? "trireme could not join its job: the reason is in the line above, on stderr" : run.fault;
    the_run.reset();
    throw std::runtime_error(fault);
  }
  std::vector<std::string> left;
  for (int i = 0; run.arguments[static_cast<std::size_t>(i)] != nullptr; ++i)
    left.emplace_back(run.arguments[static_cast<std::size_t>(i)]);
  arguments = std::move(left);
}

bool session::is_running() { return is_of_this_process() && the_run->is_running; }
bool session::is_here() { return is_running() && sched::detail::this_pe != nullptr; }
bool session::has_ended() { return is_of_this_process() && the_run->has_ended; }
bool session::is_of_parent() { return the_run != nullptr && !is_of_this_process(); }

void session::check_running() {
  if (the_run == nullptr) throw std::logic_error("trireme has not been started in this process: trireme.start()");
  if (is_of_parent())
    throw std::logic_error("trireme runs in the parent of this process: forked children cannot use it");
  if (!the_run->is_running) throw std::logic_error("trireme has ended in this process");
  if (sched::detail::this_pe == nullptr)
    throw std::logic_error("trireme is used by another thread than the one that started it");
}

int session::status_of_stop() { return sched::exit_status_of(sched::this_pe().job()); }

int session::end(int status) {
  if (!is_running()) return status;
  the_run->status = status;
  switch_to_runtime(*the_run);
  the_run->has_ended = true;
  return the_run->status;
}

interpreter_released::interpreter_released() : state_(PyEval_SaveThread()) {}
interpreter_released::~interpreter_released() { PyEval_RestoreThread(static_cast<PyThreadState*>(state_)); }

}  // namespace tri::python
