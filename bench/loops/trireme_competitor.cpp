// Our loops, as a plain program uses them.
#include <deque>

#include "loops/competitor_of.hpp"
#include "os/pinning.hpp"
#include "trireme/loops.hpp"

namespace tri::bench {
namespace {

class trireme_runtime {
 public:
  explicit trireme_runtime(const comparison_setup& setup) {
    host::pin_this_thread(setup.first_cpu);
    for (const std::string& text : schedules()) {
      if (text != "serial") schedules_.push_back(tri::loops::parse_schedule(text));
    }
    // Each schedule of each loop remembers for itself.
    for (std::size_t i = 0; i < schedules_.size() * kernels * 2; ++i) records_.emplace_back();
  }
  static std::string name() { return "trireme"; }
  static std::vector<std::string> schedules() {
    return {"automatic",  "static",        "dynamic,1", "dynamic,8", "guided", "factoring",
            "hybrid,0.8", "staggered,0.5", "tasklets",  "weighted",  "serial"};
  }
  template <class Body>
  void loop(std::size_t schedule, std::size_t place, int n, const Body& body) {
    if (schedule == schedules_.size()) {
      for (int i = 0; i < n; ++i) body(i);
      return;
    }
    loop_options options(schedules_[schedule]);
    options.record = &records_[place * schedules_.size() + schedule];
    parallel_for(n, body, options);
  }

 private:
  std::vector<tri::loops::schedule> schedules_;
  std::deque<tri::loops::loop_record> records_;
};

}  // namespace

std::unique_ptr<competitor> trireme_competitor(const comparison_setup& setup) {
  return std::make_unique<competitor_of<trireme_runtime>>(setup);
}

}  // namespace tri::bench
