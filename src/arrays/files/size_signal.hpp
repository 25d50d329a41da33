// Writes beyond the limit of file sizes (RLIMIT_FSIZE) are errors, not signals that end the process, while one of these
// lives. For the calling thread.
#pragma once

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace tri::arrays {

class without_size_signal {
 public:
  without_size_signal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  without_size_signal(const without_size_signal&) = delete;
  without_size_signal& operator=(const without_size_signal&) = delete;
  ~without_size_signal() {
    const timespec no_time{};
    if (sigismember(&before_, SIGXFSZ) == 0)
      while (sigtimedwait(&signal_, nullptr, &no_time) == SIGXFSZ) {  // it waits for this thread
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_{};
  sigset_t before_{};
};

}  // namespace tri::arrays
