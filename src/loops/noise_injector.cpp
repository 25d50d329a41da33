// See trireme/noise.hpp.
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "loops/random_numbers.hpp"
#include "os/cpu/pinning.hpp"
#include "trireme/noise.hpp"

namespace tri::noise {
namespace {

using loops::random_numbers;
using steady = std::chrono::steady_clock;

nanoseconds longest_of(const plan& wanted) { return std::max(wanted.longest, wanted.duration); }

// A stream of its own for each victim and event.
random_numbers stream_of(const plan& wanted, std::uint64_t victim, std::uint64_t number) {
  random_numbers of_victim(wanted.seed ^ (victim * 0xd1342543de82ef95u));
  return random_numbers(of_victim.next() ^ (number * 0x9e3779b97f4a7c15u));
}

nanoseconds share_of(nanoseconds whole, double share) {
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(whole.count()) * share));
}

nanoseconds since_the_epoch() { return std::chrono::duration_cast<nanoseconds>(steady::now().time_since_epoch()); }

nanoseconds processor_time() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

}  // namespace

void check(const plan& wanted) {
  const auto fail = [](const std::string& problem) { throw std::invalid_argument("noise: " + problem); };
  if (wanted.period <= nanoseconds(0))
    fail(fmt::format("the period is {} ns; it must be above 0", wanted.period.count()));
  if (wanted.duration < nanoseconds(0))
    fail(fmt::format("events last {} ns; the duration must not be negative", wanted.duration.count()));
  if (wanted.longest != nanoseconds(0) && wanted.longest < wanted.duration) {
    fail(fmt::format("the longest event ({} ns) is shorter than the duration ({} ns); 0 makes all events equal",
                     wanted.longest.count(), wanted.duration.count()));
  }
  if (longest_of(wanted) >= wanted.period) {
    fail(fmt::format("events of {} ns in every {} ns would take everything; they must be shorter than the period",
                     longest_of(wanted).count(), wanted.period.count()));
  }
  if (!(wanted.jitter >= 0.0 && wanted.jitter <= 1.0))
    fail(fmt::format("the jitter is {}; it must lie between 0 and 1", wanted.jitter));
}

sequence::sequence(const plan& wanted, std::uint64_t victim) : plan_(wanted), victim_(victim), phase_(0) {
  check(wanted);
  if (!wanted.together) {
    random_numbers random = stream_of(wanted, victim, ~std::uint64_t{0});
    phase_ = share_of(wanted.period, random.fraction());
  }
}

event sequence::at(std::uint64_t number) const {
  random_numbers random = stream_of(plan_, victim_, number);
  const double later = random.fraction();
  const nanoseconds duration = plan_.duration + share_of(longest_of(plan_) - plan_.duration, random.fraction());
  const nanoseconds begin = phase_ + plan_.period * static_cast<std::int64_t>(number) +
                            share_of(plan_.period - duration, plan_.jitter * later);
  return {begin, duration};
}

// Threads that take cores away.

struct core_injector::state {
  // relaxed everywhere: a thread adds to its own counts, others read them as figures
  struct alignas(64) core {
    std::atomic<std::uint64_t> events{0};
    std::atomic<std::uint64_t> missed{0};
    std::atomic<std::int64_t> delayed{0};
  };

  explicit state(std::size_t count) : cores(count) { errors.resize(count); }
  ~state() { stop(); }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads)
      if (thread.joinable()) thread.join();
  }

  // Sleeps until then. Returns false when it is time to end.
  bool wait_until(steady::time_point then) {
    std::unique_lock lock(mutex);
    return !changed.wait_until(lock, then, [&] { return stopping; });
  }

  void serve(core& own, const sequence& events, steady::time_point start) {
    for (std::uint64_t number = 0;; ++number) {
      const event next = events.at(number);
      // If we did not get the core in time, the machine allows no more noise.
      if (steady::now() > start + next.begin + next.duration) {
        own.missed.fetch_add(1, std::memory_order_relaxed);
        if (!wait_until(steady::time_point::min())) return;
        continue;
      }
      if (!wait_until(start + next.begin)) return;
      const nanoseconds until = processor_time() + next.duration;
      while (processor_time() < until) continue;
      own.events.fetch_add(1, std::memory_order_relaxed);
      own.delayed.fetch_add(next.duration.count(), std::memory_order_relaxed);
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex
  std::size_t ready = 0;  // guarded by mutex: threads that are on their core, or failed to get it
  std::string priority;   // guarded by mutex until all are ready, then constant
  std::vector<core> cores;
  std::vector<std::exception_ptr> errors;  // each written by its thread before it is ready
  std::vector<std::thread> threads;
};

core_injector::core_injector(const plan& wanted, std::vector<int> cores) {
  check(wanted);
  if (wanted.kind == kind::sleeping) {
    throw std::invalid_argument(
        "noise: sleeping takes nothing from a core; kind::computing does, or a thread_injector lets threads sleep");
  }
  if (cores.empty()) cores = os::cpus_of_this_thread();
  for (auto core = cores.begin(); core != cores.end(); ++core) {
    if (std::find(cores.begin(), core, *core) != core)
      throw std::invalid_argument(fmt::format("noise: core {} is named twice", *core));
  }
  state_ = std::make_unique<state>(cores.size());
  state& shared = *state_;
  const steady::time_point start = steady::now();
  for (std::size_t index = 0; index < cores.size(); ++index) {
    shared.threads.emplace_back([&shared, index, core = cores[index], start,
                                 events = sequence(wanted, static_cast<std::uint64_t>(cores[index]))] {
      try {
        os::pin_this_thread(core);
      } catch (...) {
        shared.errors[index] = std::current_exception();
      }
      sched_param above{};
      above.sched_priority = 2;  // the programs that are disturbed may run with 1
      const bool is_above = pthread_setschedparam(pthread_self(), SCHED_FIFO, &above) == 0;
      {
        const std::lock_guard lock(shared.mutex);
        shared.priority = is_above ? "SCHED_FIFO" : "ordinary";
        ++shared.ready;
      }
      shared.changed.notify_all();
      if (shared.errors[index] == nullptr) shared.serve(shared.cores[index], events, start);
    });
  }
  {
    std::unique_lock lock(shared.mutex);
    shared.changed.wait(lock, [&] { return shared.ready == cores.size(); });
  }
  for (const std::exception_ptr& error : shared.errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

core_injector::~core_injector() = default;  // ~state stops

void core_injector::stop() { state_->stop(); }

counts core_injector::so_far() const {
  counts sum;
  for (const state::core& each : state_->cores) {
    sum.events += each.events.load(std::memory_order_relaxed);  // relaxed: as in state
    sum.missed += each.missed.load(std::memory_order_relaxed);
    sum.delayed += nanoseconds(each.delayed.load(std::memory_order_relaxed));
  }
  return sum;
}

const std::string& core_injector::priority() const { return state_->priority; }

// Threads that delay themselves.

struct alignas(64) thread_injector::victim {
  victim(const plan& wanted, std::uint64_t which) : events(wanted, which), next(events.at(0)) {}
  victim(victim&& other) noexcept : events(other.events), next(other.next) {}  // only before first use

  sequence events;
  event next;                // not begun at the last call of delay()
  std::uint64_t number = 0;  // of `next`
  // relaxed everywhere: written by the victim, read by others as figures
  std::atomic<std::uint64_t> carried_out{0};
  std::atomic<std::uint64_t> missed{0};
  std::atomic<std::int64_t> delayed{0};
};

thread_injector::thread_injector(const plan& wanted, int victims)
    : thread_injector(wanted, victims,
                      {since_the_epoch, [](nanoseconds length) { std::this_thread::sleep_for(length); }}) {}

thread_injector::thread_injector(const plan& wanted, int victims, clock time)
    : kind_(wanted.kind), clock_(std::move(time)), start_(clock_.now()) {
  check(wanted);
  if (victims < 1) throw std::invalid_argument(fmt::format("noise: {} victims; at least 1 is needed", victims));
  victims_.reserve(static_cast<std::size_t>(victims));
  for (int number = 0; number < victims; ++number) victims_.emplace_back(wanted, static_cast<std::uint64_t>(number));
}

thread_injector::~thread_injector() = default;

void thread_injector::delay(int number) {
  if (number < 0 || static_cast<std::size_t>(number) >= victims_.size()) {
    throw std::out_of_range(
        fmt::format("noise: there is no victim {}; they are numbered 0 to {}", number, victims_.size() - 1));
  }
  if (stopped_.load(std::memory_order_relaxed)) return;  // relaxed: as in stop
  victim& own = victims_[static_cast<std::size_t>(number)];
  const nanoseconds now = clock_.now() - start_;
  if (now < own.next.begin) return;
  event last = own.next;
  std::uint64_t missed = 0;
  for (own.next = own.events.at(++own.number); own.next.begin <= now; own.next = own.events.at(++own.number)) {
    last = own.next;
    ++missed;
  }
  if (kind_ == kind::sleeping) {
    clock_.sleep(last.duration);
  } else {
    const nanoseconds end = clock_.now() + last.duration;
    while (clock_.now() < end) continue;
  }
  own.carried_out.fetch_add(1, std::memory_order_relaxed);
  own.missed.fetch_add(missed, std::memory_order_relaxed);
  own.delayed.fetch_add(last.duration.count(), std::memory_order_relaxed);
}

counts thread_injector::so_far() const {
  counts sum;
  for (const victim& each : victims_) {
    sum.events += each.carried_out.load(std::memory_order_relaxed);  // relaxed: as in victim
    sum.missed += each.missed.load(std::memory_order_relaxed);
    sum.delayed += nanoseconds(each.delayed.load(std::memory_order_relaxed));
  }
  return sum;
}

}  // namespace tri::noise
