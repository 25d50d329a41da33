// Another program that wants a core now and then, for experiments: a thread that is busy for `busy_ms` of every
// `period_ms` on one core, above all others where the system allows that.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace tri::bench {

class noise_thread {
 public:
  noise_thread(int cpu, double busy_ms, double period_ms);
  ~noise_thread();
  noise_thread(const noise_thread&) = delete;
  noise_thread& operator=(const noise_thread&) = delete;

  // "SCHED_FIFO", or "ordinary" where that is not allowed: then it shares the core with whoever is there.
  const std::string& priority() const { return priority_; }

 private:
  void make_noise(int cpu, double busy_ms, double period_ms);

  std::atomic<bool> stopping_{false};
  std::atomic<bool> began_{false};
  std::string priority_ = "ordinary";
  std::thread thread_;
};

}  // namespace tri::bench
