// Our loops, as a plain program uses them.
#include <memory>
#include <vector>

#include "loops/competitor_of.hpp"
#include "os/cpu/pinning.hpp"
#include "trireme/loops.hpp"

namespace tri::bench {
namespace {

class trireme_runtime {
 public:
  explicit trireme_runtime(const comparison_setup& setup) {
    os::pin_this_thread(setup.first_cpu);
    for (const std::string& text : schedules()) {
      if (text != "serial") schedules_.push_back(tri::schedules::parse_schedule(text));
    }
    // Each schedule of each loop remembers for itself.
    for (std::size_t i = 0; i < schedules_.size() * places; ++i) records_.push_back(std::make_unique<loop_record>());
  }
  static std::string name() { return "trireme"; }
  static std::vector<std::string> schedules() {
    return {"automatic", "static",     "dynamic,1",     "dynamic,8", "dynamic,64", "guided",
            "factoring", "hybrid,0.8", "staggered,0.5", "tasklets",  "weighted",   "serial"};
  }
  template <class Body>
  void loop(std::size_t schedule, std::size_t place, int n, const Body& body) {
    if (schedule == schedules_.size()) {
      for (int i = 0; i < n; ++i) body(i);
      return;
    }
    loop_options options(schedules_[schedule]);
    options.record = records_[place * schedules_.size() + schedule].get();
    parallel_for(n, body, options);
  }
  void forget(std::size_t schedule, std::size_t place) {
    if (schedule < schedules_.size()) records_[place * schedules_.size() + schedule] = std::make_unique<loop_record>();
  }

 private:
  using loop_record = tri::loops::loop_record;
  std::vector<tri::schedules::schedule> schedules_;
  std::vector<std::unique_ptr<loop_record>> records_;
};

}  // namespace

std::unique_ptr<competitor> trireme_competitor(const comparison_setup& setup) {
  return std::make_unique<competitor_of<trireme_runtime>>(setup);
}

}  // namespace tri::bench
