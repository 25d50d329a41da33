#include "trace/region_steps.hpp"

#include <algorithm>
#include <utility>

namespace tri::tools {
namespace {

using trace::event;

class nested_regions {
 public:
  void enter(std::int64_t ns, const std::string& region) {
    open_.push_back(region);
    steps_.push_back({ns, true, region});
  }
  // The innermost of that name; if there is none, nothing happens: it began before the trace.
  void leave(std::int64_t ns, const std::string& region) {
    const auto found = std::find(open_.rbegin(), open_.rend(), region);
    if (found == open_.rend()) return;
    const auto at = static_cast<std::size_t>(open_.rend() - found) - 1;
    for (std::size_t i = open_.size(); i > at; --i) steps_.push_back({ns, false, open_[i - 1]});
    for (std::size_t i = at + 1; i < open_.size(); ++i) steps_.push_back({ns, true, open_[i]});
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void leave_all(std::int64_t ns) {
    for (; !open_.empty(); open_.pop_back()) steps_.push_back({ns, false, open_.back()});
  }
  std::vector<region_step> take() { return std::move(steps_); }

 private:
  std::vector<std::string> open_;
  std::vector<region_step> steps_;
};

constexpr const char* idle_region = "idle";
constexpr const char* wait_region = "waits for a result";
constexpr const char* help_region = "work of the host's board";
constexpr const char* wire_region = "moves messages";

// Events beside which an idle row stays idle.
bool passes(event what) {
  switch (what) {
    case event::send:
    case event::left:
    case event::arrived:
    case event::slow:
    case event::written:
    case event::incoming:
    case event::taken:
    case event::load:
    case event::expected:
    case event::copied:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<region_step> region_steps_of(const trace_folder& trace, const trace_row& row, std::int64_t end_ns) {
  nested_regions regions;
  bool idle = false;
  for (const trace_event& one : row.events) {
    if (idle && !passes(one.what)) {
      regions.leave(one.ns, idle_region);
      idle = false;
    }
    switch (one.what) {
      case event::begin:
        regions.enter(one.ns, trace.name_of(one.handler));
        break;
      case event::end:
        regions.leave(one.ns, trace.name_of(one.handler));
        break;
      case event::wait:
        regions.enter(one.ns, wait_region);
        break;
      case event::resume:
        regions.leave(one.ns, wait_region);
        break;
      case event::help:
        regions.enter(one.ns, help_region);
        break;
      case event::helped:
        regions.leave(one.ns, help_region);
        break;
      case event::enter:
        regions.enter(one.ns, row.name_of_program(one.handler));
        break;
      case event::leave:
        regions.leave(one.ns, row.name_of_program(one.handler));
        break;
      case event::work:
        regions.enter(one.ns, wire_region);
        break;
      case event::idle:
        regions.leave(one.ns, wire_region);
        regions.enter(one.ns, idle_region);
        idle = true;
        break;
      case event::on:
      case event::off:
        regions.leave_all(one.ns);
        break;
      default:
        break;
    }
  }
  regions.leave_all(end_ns);
  return regions.take();
}

}  // namespace tri::tools
