#include "mpi/startup/library_calls.hpp"

#include <chrono>
#include <csignal>

namespace tri::mpi {
namespace {

// Of a wait of the library, between two polls.
constexpr unsigned steps_between_polls = 8;
// The thread polls for so long after the last call has ended, so that a program of many short calls does not wake it in
// each.
constexpr auto lingering = std::chrono::milliseconds(20);
constexpr auto between_polls = std::chrono::microseconds(100);

// Of this thread.
thread_local int open_calls = 0;
thread_local unsigned steps = 0;

}  // namespace

void library_call::begin() {
  if (library_call_thread* const thread = in_->library_thread())
    thread->call_begins();
  else
    ++open_calls;
}

void library_call::end() {
  if (library_call_thread* const thread = in_->library_thread())
    thread->call_ends();
  else
    --open_calls;
  const call_guard guard(*in_);
  in_->ranks().progress(true);
}

// The library may be in a call of ours, made by a function of the program that the library has called.
bool library_call::progress() noexcept {
  if (open_calls == 0 || session::is_entered() || ++steps % steps_between_polls != 0) return false;
  session* const in = session::active();
  if (in == nullptr) return false;
  const call_guard guard(*in);
  return in->ranks().progress(true);
}

library_call_thread::library_call_thread(session& in) : session_(in) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the threads of the program
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

library_call_thread::~library_call_thread() {
  {
    const std::lock_guard locked(lock_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void library_call_thread::call_begins() {
  const std::lock_guard locked(lock_);
  ++calls_;
  ++open_;
  if (sleeps_) changed_.notify_one();
}

void library_call_thread::call_ends() {
  const std::lock_guard locked(lock_);
  --open_;
}

void library_call_thread::run() {
  std::unique_lock locked(lock_);
  auto last_seen = std::chrono::steady_clock::now() - lingering;
  std::uint64_t seen = 0;
  while (!ends_) {
    const auto now = std::chrono::steady_clock::now();
    if (open_ > 0 || calls_ != seen) last_seen = now;
    const bool polls = open_ > 0;
    seen = calls_;
    if (now - last_seen >= lingering) {
      sleeps_ = true;
      changed_.wait(locked, [&] { return ends_ || calls_ != seen; });
      sleeps_ = false;
      continue;
    }
    bool worked = false;
    if (polls) {
      locked.unlock();
      {
        const call_guard guard(session_);
        worked = session_.ranks().progress(true);
      }
      locked.lock();
    }
    if (!worked) changed_.wait_for(locked, between_polls, [&] { return ends_; });
  }
}

}  // namespace tri::mpi
