#include "omp/static_shares.hpp"

#include <fmt/format.h>
#include <sched.h>

#include "os/cpu/cpu_hints.hpp"

namespace tri::omp {

bool static_memory::shares(std::uint64_t items, std::vector<std::uint64_t>& starts) {
  if (!take()) return false;
  starts = schedules::starts_of(schedules::allocate(items, weights_.weights()));
  release();
  return true;
}

void static_memory::learn(std::span<const double> times, std::span<const std::uint64_t> items) {
  if (!take()) return;
  weights_.measured(times, items);
  release();
}

std::string static_memory::text() {
  if (!take()) return {};
  std::string text;
  for (const double weight : weights_.weights()) text += fmt::format("{}{:.2f}", text.empty() ? "" : " ", weight);
  release();
  return text;
}

void static_shares::decide(static_share& share, std::uint64_t items, std::uint32_t threads, static_memory* memory) {
  if (memory == nullptr || !memory->shares(items, share.starts_)) {
    const std::vector<double> equal(threads, 1.0);
    share.starts_ = schedules::starts_of(schedules::allocate(items, equal));
  }
  share.memory_ = memory;
  share.times_.assign(threads, {});
  share.ready_.store(true, std::memory_order_release);  // static_shares.publish
}

void static_shares::wait(const static_share& share) {
  constexpr int spins_before_yield = 2000;
  for (int spin = 0; !share.ready_.load(std::memory_order_acquire); ++spin) {  // pairs: static_shares.publish
    if (spin < spins_before_yield)
      os::cpu_relax();
    else
      sched_yield();
  }
}

void static_shares::learn_and_forget() {
  std::vector<double> times;
  std::vector<std::uint64_t> items;
  for (static_share& share : shares_) {
    if (share.items_.load(std::memory_order_relaxed) == 0) break;  // relaxed: we are alone, as below
    times.clear();
    items.clear();
    for (const static_share::thread_time& each : share.times_) {
      times.push_back(static_cast<double>(each.ticks));
      items.push_back(each.items);
    }
    if (share.memory_ != nullptr) share.memory_->learn(times, items);
    share.ready_.store(false, std::memory_order_relaxed);
    share.items_.store(0, std::memory_order_relaxed);
  }
}

}  // namespace tri::omp
