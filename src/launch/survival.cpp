#include "launch/survival.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tri::launch {

survival::survival(int processes, int hosts, after_loss choice)
    : processes_(processes), choice_(choice), hosts_(static_cast<std::size_t>(hosts)) {
  std::iota(hosts_.begin(), hosts_.end(), 0);
}

survival::decision survival::after(const ended_processes& life) {
  if (life.has_new_checkpoint) {
    has_checkpoint_ = true;
    fruitless_ = 0;
  }
  decision ends;
  ends.ends_with = life.status;
  if (life.requested_status) {
    ends.ends_with = life.requested_status;
    return ends;
  }
  if (life.wanted_processes) {
    processes_ = *life.wanted_processes;
    return goes_on(fmt::format("the job goes on with {} process{}", processes_, processes_ == 1 ? "" : "es"));
  }
  if (!life.lost) return ends;
  // A host that is lost makes the job smaller: that ends by itself.
  if (life.lost_hosts.empty() && ++fruitless_ > most_fruitless_lives) {
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
  std::string text =
      has_checkpoint_ ? "the job goes on from its last checkpoint" : "the job begins again: it had no checkpoint yet";
  if (choice_ == after_loss::fewer && processes_ > 1) {
    processes_ = std::max(1, processes_ - std::max(1, life.lost_processes));
    text += fmt::format(" with {} process{}", processes_, processes_ == 1 ? "" : "es");
  }
  return goes_on(std::move(text));
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
