#include "checkpoint/memory_copies.hpp"

#include <algorithm>
#include <utility>

namespace tri::checkpoint_files {

copies_under_way::copies_under_way(std::vector<int> host_of_part, int hosts)
    : host_of_part_(std::move(host_of_part)),
      hosts_(hosts),
      written_(host_of_part_.size()),
      copied_(host_of_part_.size()),
      counted_(static_cast<std::size_t>(hosts)) {}

std::optional<int> copies_under_way::copy_goes_to(int part) const {
  if (hosts_ == 1) return {};
  return buddy_of(host_of_part_[static_cast<std::size_t>(part)], hosts_);
}

bool copies_under_way::may_count() const {
  const auto all = [](const std::vector<std::uint8_t>& each) { return std::ranges::find(each, 0) == each.end(); };
  return all(written_) && (hosts_ == 1 || all(copied_));
}

bool copies_under_way::is_complete() const { return may_count() && std::ranges::find(counted_, 0) == counted_.end(); }

namespace {

std::optional<chosen_copies> complete(const held_generation& counting, int manifest_of,
                                      const std::vector<std::vector<held_generation>>& of_hosts) {
  chosen_copies chosen{counting.generation, counting.token, counting.slot, manifest_of, {}};
  chosen.hosts_of_part.resize(counting.has.size());
  for (std::size_t host = 0; host < of_hosts.size(); ++host)
    for (const held_generation& held : of_hosts[host]) {
      if (held.token != counting.token) continue;
      for (std::size_t part = 0; part < std::min(held.has.size(), counting.has.size()); ++part)
        if (held.has[part]) chosen.hosts_of_part[part].push_back(static_cast<int>(host));
    }
  const bool is_missing = std::ranges::any_of(chosen.hosts_of_part, [](const auto& hosts) { return hosts.empty(); });
  return is_missing ? std::nullopt : std::optional(std::move(chosen));
}

}  // namespace

std::optional<chosen_copies> choose_copies(const std::vector<std::vector<held_generation>>& of_hosts) {
  std::optional<chosen_copies> best;
  for (std::size_t host = 0; host < of_hosts.size(); ++host)
    for (const held_generation& held : of_hosts[host]) {
      if (!held.counts || (best && held.generation <= best->generation)) continue;
      if (auto found = complete(held, static_cast<int>(host), of_hosts)) best = std::move(found);
    }
  return best;
}

std::vector<int> choose_readers(const chosen_copies& chosen, int hosts) {
  std::vector<int> readers;
  std::vector<int> load(static_cast<std::size_t>(hosts));
  const auto load_of = [&](int host) { return load[static_cast<std::size_t>(host)]; };
  for (const std::vector<int>& who : chosen.hosts_of_part) {
    const int least = *std::ranges::min_element(who, {}, load_of);
    ++load[static_cast<std::size_t>(least)];
    readers.push_back(least);
  }
  return readers;
}

}  // namespace tri::checkpoint_files
