#include "schedules/user_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "config/given_name.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::schedules {
namespace {

// Claim numbers must fit into 32 bits, also when every participant has overshot the end once (loop_layout.cpp).
constexpr std::size_t most_chunks = std::size_t{1} << 30;

struct added {
  std::string name;
  plan_function plan;
  plan_again again;
};
struct with_values {
  const added* which;
  std::vector<double> values;
  std::string text;
};
// Entries are never removed and do not move, so references to them stay valid.
struct added_list {
  std::mutex mutex;
  std::deque<added> all;
  std::deque<with_values> numbered;
};
// Never destroyed: loops may run while the process ends. Created on first use, also before main.
added_list& everything() {
  static added_list* const list = new added_list;
  return *list;
}

const with_values& numbered(std::uint32_t number) {
  added_list& list = everything();
  const std::lock_guard lock(list.mutex);
  if (number >= list.numbered.size())
    throw std::invalid_argument(fmt::format("loop schedule: there is no user schedule number {}", number));
  return list.numbered[number];
}

std::string owner_of(const loop_plan::chunk& one) {
  return one.participant == loop_plan::any_participant ? "the shared pool"
                                                       : fmt::format("participant {}", one.participant);
}

// Every iteration exactly once. `sorted`: by the first iteration.
void check_plan(const std::vector<loop_plan::chunk>& chunks, const std::vector<std::uint32_t>& sorted,
                std::uint64_t items, std::uint32_t participants) {
  std::uint64_t done = 0;
  const loop_plan::chunk* before = nullptr;
  const auto refuse_gap = [&](std::uint64_t first, std::uint64_t last) {
    throw std::invalid_argument(fmt::format(
        "iterations {} to {} of {} are not assigned; every iteration must be assigned once", first, last - 1, items));
  };
  for (const std::uint32_t index : sorted) {
    const loop_plan::chunk& one = chunks[index];
    if (one.participant < loop_plan::any_participant || one.participant >= static_cast<int>(participants)) {
      throw std::invalid_argument(fmt::format("iterations {} to {} are given to participant {}; there are 0 to {}",
                                              one.first, one.last - 1, one.participant, participants - 1));
    }
    if (one.last < one.first || one.last > items) {
      throw std::invalid_argument(
          fmt::format("the chunk from {} up to {} is outside of a loop of {} iterations", one.first, one.last, items));
    }
    if (one.first < done) {
      throw std::invalid_argument(
          fmt::format("iteration {} is given twice, to {} and to {}", one.first, owner_of(*before), owner_of(one)));
    }
    if (one.first > done) refuse_gap(done, one.first);
    done = one.last;
    before = &one;
  }
  if (done < items) refuse_gap(done, items);
}

}  // namespace

std::optional<std::uint32_t> find_user_schedule(std::string_view name, std::span<const double> values) {
  added_list& list = everything();
  const std::lock_guard lock(list.mutex);
  const auto found = std::find_if(list.all.begin(), list.all.end(), [&](const added& one) { return one.name == name; });
  if (found == list.all.end()) return std::nullopt;
  for (std::size_t number = 0; number < list.numbered.size(); ++number) {
    const with_values& known = list.numbered[number];
    if (known.which == &*found && std::equal(values.begin(), values.end(), known.values.begin(), known.values.end()))
      return static_cast<std::uint32_t>(number);
  }
  with_values one{.which = &*found, .values = {values.begin(), values.end()}, .text = found->name};
  for (const double value : values) one.text += fmt::format(",{}", value);
  list.numbered.push_back(std::move(one));
  return static_cast<std::uint32_t>(list.numbered.size() - 1);
}

const std::string& user_schedule_text(std::uint32_t number) { return numbered(number).text; }

bool plans_every_time(std::uint32_t number) { return numbered(number).which->again == plan_again::every_time; }

std::vector<std::string> user_schedule_names() {
  added_list& list = everything();
  const std::lock_guard lock(list.mutex);
  std::vector<std::string> names;
  for (const added& one : list.all) names.push_back(one.name);
  return names;
}

// Chunks are numbered in the order of the loop; claim numbers follow the plan: each participant's kept chunks, then its
// offered ones, participant by participant, followed by the shared ones.
void lay_out_user_schedule(loop_layout& layout, std::uint32_t number, std::uint64_t items, std::uint32_t participants,
                           std::span<const participant_time> last) {
  const with_values& wanted = numbered(number);
  loop_plan plan;
  wanted.which->plan({items, static_cast<int>(participants), wanted.values, last}, plan);
  const std::vector<loop_plan::chunk>& chunks = plan.chunks();
  std::vector<std::uint32_t> sorted;
  try {
    if (chunks.size() > most_chunks)
      throw std::invalid_argument(fmt::format("{} chunks; there may be {}", chunks.size(), most_chunks));
    sorted.resize(chunks.size());
    std::iota(sorted.begin(), sorted.end(), 0u);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return chunks[a].first < chunks[b].first; });
    check_plan(chunks, sorted, items, participants);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("loop schedule '{}': {}", wanted.text, problem.what()));
  }

  std::vector<std::uint32_t> chunk_of(chunks.size());
  layout.bounds.push_back(0);
  for (std::uint32_t chunk = 0; chunk < sorted.size(); ++chunk) {
    chunk_of[sorted[chunk]] = chunk;
    layout.bounds.push_back(chunks[sorted[chunk]].last);
  }
  // Each participant's kept and offered chunks, the last: the shared ones.
  struct holding {
    std::vector<std::uint32_t> kept, offered;
  };
  std::vector<holding> holdings(participants + std::size_t{1});
  for (std::size_t index = 0; index < chunks.size(); ++index) {
    const loop_plan::chunk& one = chunks[index];
    holding& of = one.participant == loop_plan::any_participant ? holdings.back()
                                                                : holdings[static_cast<std::size_t>(one.participant)];
    (one.kept ? of.kept : of.offered).push_back(chunk_of[index]);
  }
  const auto so_far = [&] { return static_cast<std::uint32_t>(layout.order.size()); };
  const auto append = [&](const std::vector<std::uint32_t>& numbers) {
    layout.order.insert(layout.order.end(), numbers.begin(), numbers.end());
  };
  for (std::uint32_t index = 0; index < participants; ++index) {
    const std::uint32_t first = so_far();
    append(holdings[index].kept);
    const std::uint32_t kept = so_far() - first;
    append(holdings[index].offered);
    layout.ranges.push_back({first, so_far(), kept, kept});
  }
  if (!holdings.back().offered.empty()) {
    layout.pool.first = so_far();
    append(holdings.back().offered);
    layout.pool.last = so_far();
  }
  if (plan.steals_from_neighbours_first()) layout.steal = board::steal_order::neighbours;
  if (std::is_sorted(layout.order.begin(), layout.order.end())) layout.order.clear();
}

}  // namespace tri::schedules

namespace tri {

void add_schedule(const std::string& name, plan_function plan, plan_again again) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("add_schedule('{}'): {}", name, why));
  };
  if (!config::can_be_a_name(name)) refuse(config::rule_of_names);
  if (!plan) refuse("there is no function");
  const std::vector<std::string> known = schedules::schedule_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) refuse("there is a schedule of this name already");
  schedules::added_list& list = schedules::everything();
  const std::lock_guard lock(list.mutex);
  // Asked again under the lock, for two threads that add the same name.
  for (const schedules::added& one : list.all)
    if (one.name == name) refuse("there is a schedule of this name already");
  list.all.push_back({name, std::move(plan), again});
}

}  // namespace tri
