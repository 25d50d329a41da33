#include "trireme/queue_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <mutex>
#include <stdexcept>
#include <utility>

#include "config/given_name.hpp"
#include "config/suggestion.hpp"
#include "sched/wanted_queue_policy.hpp"

namespace tri {
namespace {

struct policy_list {
  std::mutex mutex;
  std::vector<queue_policy> all{
      {"fifo", "in order of arrival, as without a policy", {}},
      {"lifo", "the newest message first: depth first, with little memory",
       [](const waiting_message&) { return lifo; }},
  };
};
// Never destroyed, and made on first use: programs add policies before main.
policy_list& everything() {
  static auto* const list = new policy_list;
  return *list;
}

}  // namespace

void add_queue_policy(queue_policy added) {
  if (!config::can_be_a_name(added.name))
    throw std::invalid_argument(fmt::format("queue policy '{}': {}", added.name, config::rule_of_names));
  if (!added.order) throw std::invalid_argument(fmt::format("queue policy '{}' has no function", added.name));
  policy_list& list = everything();
  const std::lock_guard lock(list.mutex);
  for (const queue_policy& each : list.all)
    if (each.name == added.name) throw std::invalid_argument(fmt::format("queue policy '{}' exists", added.name));
  list.all.push_back(std::move(added));
}

std::vector<queue_policy> all_queue_policies() {
  policy_list& list = everything();
  const std::lock_guard lock(list.mutex);
  return list.all;
}

namespace sched {

std::optional<queue_policy> wanted_queue_policy(const config::configuration& values) {
  std::vector<std::string> names;
  for (const queue_policy& each : all_queue_policies()) {
    names.push_back(each.name);
    if (each.name != values.queue) continue;
    if (!each.order) return std::nullopt;
    if (values.shuffle != 0 || !values.record.empty() || !values.replay.empty())
      throw std::invalid_argument(fmt::format(
          "--tri-queue={} excludes --tri-shuffle, --tri-record and --tri-replay: these choose the order themselves",
          values.queue));
    return each;
  }
  throw std::invalid_argument(fmt::format("--tri-queue={}: there is no such queue policy{}; known: {}", values.queue,
                                          config::did_you_mean(values.queue, names), fmt::join(names, ", ")));
}

}  // namespace sched
}  // namespace tri
