#include "mpi/startup/progress_thread.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace tri::mpi {
namespace {

thread_local bool is_progress_thread = false;

}  // namespace

cpu_set_t last_of(const cpu_set_t& cores, std::uint32_t count) {
  cpu_set_t last;
  CPU_ZERO(&last);
  for (int core = CPU_SETSIZE - 1; core >= 0 && static_cast<std::uint32_t>(CPU_COUNT(&last)) < count; --core)
    if (CPU_ISSET(core, &cores)) CPU_SET(core, &last);
  return last;
}

void leave_to_progress(const cpu_set_t& reserved) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &reserved)) CPU_CLR(core, &mine);
  if (CPU_COUNT(&mine) > 0) sched_setaffinity(0, sizeof mine, &mine);
}

bool progress_thread::is_this() { return is_progress_thread; }

// Signals are for the threads of the program.
progress_thread::progress_thread(engine& of, std::mutex& api_mutex, const std::optional<cpu_set_t>& cores)
    : engine_(of), api_mutex_(api_mutex) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this, cores] { run(cores); });
  } catch (const std::system_error& failure) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw std::runtime_error(
        fmt::format("no thread for TRIREME_MPI_PROGRESS: {}", std::strerror(failure.code().value())));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

progress_thread::~progress_thread() {
  ends_.store(true, std::memory_order_release);  // pairs: run. Then the bell: a thread about to sleep checks again.
  engine_.wake(engine_.number());
  thread_.join();
}

void progress_thread::run(const std::optional<cpu_set_t>& cores) {
  is_progress_thread = true;
  if (cores) pthread_setaffinity_np(pthread_self(), sizeof *cores, &*cores);
  const std::lock_guard lock(api_mutex_);
  engine_.wait([this] { return ends_.load(std::memory_order_acquire); }, false, false);  // pairs: the destructor
}

}  // namespace tri::mpi
