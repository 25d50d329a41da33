// oneTBB with its four partitioners, where its headers were found at configure time.
#include "loops/competitor.hpp"

#ifdef TRIREME_BENCH_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <memory>
#include <vector>

#include "loops/competitor_of.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::bench {
namespace {

// Puts the threads of the pool on the second core, as the other runtimes have theirs.
class pinning_observer : public oneapi::tbb::task_scheduler_observer {
 public:
  explicit pinning_observer(int cpu) : cpu_(cpu) { observe(true); }
  ~pinning_observer() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) os::pin_this_thread(cpu_);
  }

 private:
  int cpu_;
};

class tbb_runtime {
 public:
  explicit tbb_runtime(const comparison_setup& setup)
      : two_(oneapi::tbb::global_control::max_allowed_parallelism, 2), observer_(setup.second_cpu) {
    // The library counts the cores when its first loop runs, and must still see both.
    oneapi::tbb::parallel_for(0, 2, [](int) {});
    os::pin_this_thread(setup.first_cpu);
    for (std::size_t place = 0; place < places; ++place) affinities_.push_back(std::make_unique<affinity>());
  }
  static std::string name() { return "tbb"; }
  static std::vector<std::string> schedules() { return {"auto", "static", "affinity", "simple"}; }

  template <class Body>
  void loop(std::size_t schedule, std::size_t place, int n, const Body& body) {
    using namespace oneapi::tbb;
    switch (schedule) {
      case 0:
        parallel_for(0, n, body, auto_partitioner());
        break;
      case 1:
        parallel_for(0, n, body, static_partitioner());
        break;
      case 2:
        parallel_for(0, n, body, *affinities_[place]);
        break;
      default:
        parallel_for(0, n, body, simple_partitioner());
        break;
    }
  }
  void forget(std::size_t, std::size_t place) { affinities_[place] = std::make_unique<affinity>(); }

 private:
  using affinity = oneapi::tbb::affinity_partitioner;
  oneapi::tbb::global_control two_;
  pinning_observer observer_;
  std::vector<std::unique_ptr<affinity>> affinities_;
};

}  // namespace

std::unique_ptr<competitor> tbb_competitor(const comparison_setup& setup) {
  return std::make_unique<competitor_of<tbb_runtime>>(setup);
}

}  // namespace tri::bench
#else
namespace tri::bench {
std::unique_ptr<competitor> tbb_competitor(const comparison_setup&) { return nullptr; }
}  // namespace tri::bench
#endif
