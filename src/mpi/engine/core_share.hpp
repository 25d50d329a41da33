// Whether a job has the cores of the host to itself, judged by the processor time of its processes. Waiting for a core
// that another process of the same job uses loses nothing: the job progresses. The arithmetic is separate from the
// clocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace tri::mpi {

class core_share {
 public:
  static constexpr std::int64_t shortest_window_ns = 20'000'000;
  static constexpr double least_share_of_owner = 0.8;

  /// `cores`: how many the job may use. From `now_ns` on, when its processes had used `used_ns` in all.
  core_share(double cores, std::int64_t now_ns, std::int64_t used_ns)
      : cores_(cores), since_ns_(now_ns), used_before_ns_(used_ns) {}
  /// It is worth reading the clocks again.
  bool is_due(std::int64_t now_ns) const { return now_ns - since_ns_ >= shortest_window_ns; }
  void judge(std::int64_t now_ns, std::int64_t used_ns) {
    const double possible = cores_ * static_cast<double>(now_ns - since_ns_);
    are_enough_ = static_cast<double>(used_ns - used_before_ns_) >= least_share_of_owner * possible;
    since_ns_ = now_ns;
    used_before_ns_ = used_ns;
  }
  /// As judged last; before that, yes.
  bool are_enough() const { return are_enough_; }

 private:
  double cores_;
  std::int64_t since_ns_;
  std::int64_t used_before_ns_;
  bool are_enough_ = true;
};

/// Processor time of a process on all cores; nothing when unknown (it has exited, or is in another PID namespace).
std::optional<std::int64_t> processor_time_ns(pid_t process);

}  // namespace tri::mpi
