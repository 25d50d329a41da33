#include "top/agent_figures.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "os/clock.hpp"
#include "top/job_text.hpp"

namespace tri::tools {
namespace {

constexpr std::int64_t kept_ns = 600'000'000'000;  // of a watcher that does not ask any more

}  // namespace

std::string agent_figures::answer(int watcher, const std::string& kind) {
  try {
    auto found = jobs_.find(kind);
    if (found == jobs_.end() || has_ended(found->second.job)) {
      jobs_.erase(kind);
      found = jobs_.emplace(kind, agent_figures::watched{job_of(getpid(), kind_named(kind)), {}}).first;
    }
    auto& [job, lookers] = found->second;
    for (const std::size_t place : find_more(job))
      for (auto& each : lookers) each.second.before.add_unknown(place);
    const std::int64_t now = os::now_ns();
    std::erase_if(lookers, [&](const auto& each) { return now - each.second.at_ns > kept_ns; });
    const auto known = lookers.find(watcher);
    job_reading reading = job_reading::take(job, known == lookers.end() ? nullptr : &known->second.before);
    const job_figures figures = figures_between(job, known == lookers.end() ? reading : known->second.before, reading);
    lookers[watcher] = {std::move(reading), now};
    return to_json(figures).dump();
  } catch (const std::exception& problem) {
    return nlohmann::json{{"problem", problem.what()}}.dump();
  }
}

}  // namespace tri::tools
