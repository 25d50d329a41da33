#include "objects/teams/local_teams.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>
#include <utility>

#include "objects/messages/held_messages.hpp"
#include "sched/scheduler.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/sched/runtime.hpp"
#include "trireme/task.hpp"

namespace tri::objects {

std::shared_ptr<local_team> local_teams::find(std::uint64_t id) {
  if (const auto found = known_.find(id); found != known_.end()) return found->second;
  if (id != world && id != host && id != arrays) return nullptr;
  const sched::runtime& job = here_.job();
  std::vector<int> pes(static_cast<std::size_t>(id == host ? job.pes_of_host() : job.pes()));
  std::iota(pes.begin(), pes.end(), id == host ? job.first_pe_of_host() : 0);
  return known_.emplace(id, std::make_shared<local_team>(here_, id, std::move(pes))).first->second;
}

bool local_teams::was_freed(std::uint64_t id) const {
  const auto of_pe = freed_.find(static_cast<std::uint32_t>(id >> 32));
  return of_pe != freed_.end() && of_pe->second.contains(static_cast<std::uint32_t>(id));
}

void local_teams::add(std::uint64_t id, std::vector<int> pes) {
  known_.emplace(id, std::make_shared<local_team>(here_, id, std::move(pes)));
  auto early = early_.extract(id);
  if (early.empty()) return;
  const owner_scope nobody(nullptr);  // whichever method called the split
  for (sched::envelope& message : early.mapped()) release_and_run(here_, message);
}

void local_teams::remove(std::uint64_t id) {
  known_.erase(id);
  freed_[static_cast<std::uint32_t>(id >> 32)].insert(static_cast<std::uint32_t>(id));
}

void local_teams::hold(const sched::envelope& message) {
  sched::envelope copy;
  copy.assign_message(message);
  if (is_ending_) return sched::drop_message(here_, copy);
  early_[message.element].push_back(copy);
  count_held(here_);
}

void local_teams::drop() {
  is_ending_ = true;  // first: destructors of the values may send what would be held
  for (auto early = std::exchange(early_, {}); auto& [id, messages] : early)
    for (sched::envelope& message : messages) sched::drop_message(here_, message);
  const auto known = std::exchange(known_, {});
}

std::string local_teams::describe_waiting() const {
  std::string text;
  for (const auto& [id, team] : known_) text += team->describe_waiting();
  for (const auto& [id, messages] : early_)
    text +=
        fmt::format("\n  PE {}: {} messages wait for a team that a split will make", here_.number(), messages.size());
  return text;
}

std::shared_ptr<local_team> team_here(sched::pe& here, std::uint64_t team) {
  if (team == 0)
    throw std::logic_error(
        "tri::team: this handle names no team; take tri::team::world(), tri::team::host(), or split one");
  local_teams& all = pe_objects::of(here).teams();
  std::shared_ptr<local_team> found = all.find(team);
  if (found != nullptr ? found->is_closed() : all.was_freed(team))
    throw std::logic_error("tri::team: the team was freed");
  if (found == nullptr)
    throw std::logic_error(fmt::format("tri::team: PE {} is not a member of this team", here.number()));
  return found;
}

std::shared_ptr<local_team> team_of_message(sched::pe& here, sched::envelope& message) {
  local_teams& all = pe_objects::of(here).teams();
  std::shared_ptr<local_team> found = all.find(message.element);
  if (found != nullptr) return found;
  if (all.was_freed(message.element))
    sched::drop_message(here, message);  // of a collective that has ended here, or failed
  else
    all.hold(message);
  return nullptr;
}

void collective_ended(sched::pe& here, const local_team& team) {
  if (team.is_closed() && !team.has_collectives()) pe_objects::of(here).teams().remove(team.id());
}

void let_leave(sched::pe& here) {
  if (!here.in_handler()) static_cast<sched::scheduler&>(here).flush_wire();
}

}  // namespace tri::objects
