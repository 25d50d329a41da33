// A helper thread that stays on one CPU and runs one piece of work at a time for its owner. Start-up cost is paid once,
// so a batch consists of the measured work alone. Owned and used by one thread.
#pragma once

#include <exception>
#include <functional>
#include <semaphore>
#include <thread>

namespace tri::bench {

class pinned_thread {
 public:
  // Throws std::system_error from the first wait() when the CPU cannot be used.
  explicit pinned_thread(int cpu);
  ~pinned_thread();
  pinned_thread(const pinned_thread&) = delete;
  pinned_thread& operator=(const pinned_thread&) = delete;

  // Runs `work` on the thread. Objects that it refers to must live until wait() returns.
  void start(std::function<void()> work);

  // Returns when the work is done; true when the system took the core away during it. Rethrows an exception of the
  // work.
  bool wait();

 private:
  void run(int cpu);

  std::function<void()> work_;  // empty: the thread ends
  std::exception_ptr failure_;
  bool disturbed_ = false;
  // pairs: pinned_thread.work (start_ released by the owner) and pinned_thread.result (done_ released by the thread)
  std::binary_semaphore start_{0};
  std::binary_semaphore done_{0};
  std::thread thread_;
};

}  // namespace tri::bench
