#include "launch/survival.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tri::launch {

survival::survival(int processes, int hosts) : processes_(processes), hosts_(static_cast<std::size_t>(hosts)) {
  std::iota(hosts_.begin(), hosts_.end(), 0);
}

survival::decision survival::after(const ended_processes& life) {
  if (life.has_new_checkpoint) {
    has_checkpoint_ = true;
    fruitless_ = 0;
  }
  decision ends;
  ends.ends_with = life.status;
  if (life.on_request) return ends;
  if (life.wanted_processes) {
    processes_ = *life.wanted_processes;
    return goes_on(fmt::format("the job goes on with {} process{}", processes_, processes_ == 1 ? "" : "es"));
  }
  if (!life.lost) return ends;
  if (++fruitless_ > most_fruitless_lives) {
    ends.text = fmt::format("the job is given up: processes were lost {} times without a new checkpoint in between",
                            fruitless_);
    return ends;
  }
  const auto is_lost = [&](int host) { return std::ranges::find(life.lost_hosts, host) != life.lost_hosts.end(); };
  if (!hosts_.empty()) {
    std::erase_if(hosts_, is_lost);
    if (hosts_.empty()) {
      ends.text = "the job is given up: no host is left";
      return ends;
    }
  }
  return goes_on(has_checkpoint_ ? "the job goes on from its last checkpoint"
                                 : "the job begins again: it had no checkpoint yet");
}

survival::decision survival::goes_on(std::string text) {
  decision next;
  next.processes = processes_;
  next.hosts = hosts_;
  next.from_checkpoint = has_checkpoint_;
  next.text = fmt::format("{} (start {})", text, ++lives_);
  return next;
}

}  // namespace tri::launch
