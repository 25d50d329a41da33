#include "trireme/detail/objects/local_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "objects/teams/team_tree.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/objects/post.hpp"
#include "trireme/detail/sched/runtime.hpp"
#include "trireme/team.hpp"

namespace tri::objects {
namespace {

struct failure_message {
  using tuple = std::tuple<team_step, std::string>;
  static void send(sched::pe& here, const local_team& team, int rank, const team_step& step, const std::string& text) {
    const int pe = team.pe_of(rank);
    post_packed(here, pe, handler, 0, team.id(),
                pack_arguments<tuple>(here, here.is_in_this_process(pe), false, step, text));
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    const auto team = team_of_message(here, message);
    if (team == nullptr) return;
    unpacked_arguments<tuple> arguments(message);
    const auto& [step, text] = arguments.values();
    const method_scope scope(pe_objects::of(here));
    team->check_sender(message, step);
    team->fail(here, step.number, text, step.from);
    collective_ended(here, *team);
  }
  static const std::uint32_t handler;
};
const std::uint32_t failure_message::handler = register_handler_of<tuple>(&deliver, "failure of a team's collective");

std::string text_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::vector<int> hosts_of(const sched::runtime& job, const std::vector<int>& pes) {
  std::vector<int> hosts;
  hosts.reserve(pes.size());
  for (const int pe : pes) hosts.push_back(job.host_of(pe));
  return hosts;
}

}  // namespace

team_operation::team_operation(const void* kind, team_place place, std::uint64_t number, int first_seen_at,
                               collective_progress::direction goes)
    : progress_(goes, static_cast<int>(place.children.size()), place.is_root()),
      has_come_(place.children.size(), false),
      kind_(kind),
      place_(std::move(place)),
      number_(number),
      first_seen_at_(first_seen_at) {}

std::size_t team_operation::child_of(int rank) const {
  return static_cast<std::size_t>(std::ranges::find(place_.children, rank, &team_place::child::rank) -
                                  place_.children.begin());
}

std::string team_operation::describe_missing() const {
  if (!progress_.is_called()) return "for the call here";
  std::string ranks;
  if (progress_.waits_for_children())
    for (std::size_t i = 0; i < has_come_.size(); ++i)
      if (!has_come_[i]) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", place_.children[i].rank);
  if (ranks.empty()) ranks = std::to_string(place_.parent);
  return "for rank " + ranks;
}

local_team::local_team(const sched::pe& here, std::uint64_t id, std::vector<int> pes)
    : id_(id), pes_(std::move(pes)), tree_(std::make_unique<team_tree>(hosts_of(here.job(), pes_))) {
  if (!tree_->is_in_order_of_ranks()) tree_of_ranks_ = std::make_unique<team_tree>(std::vector<int>(pes_.size(), 0));
  if (!std::ranges::is_sorted(pes_)) {
    for (int rank = 0; rank < size(); ++rank) ranks_of_pes_.emplace_back(pe_of(rank), rank);
    std::ranges::sort(ranks_of_pes_);
  }
  rank_ = rank_of_pe(here.number());
}

local_team::~local_team() = default;

int local_team::rank_of_pe(int pe) const {
  if (ranks_of_pes_.empty()) {
    const auto found = std::ranges::lower_bound(pes_, pe);
    return found != pes_.end() && *found == pe ? static_cast<int>(found - pes_.begin()) : -1;
  }
  const auto found = std::ranges::lower_bound(ranks_of_pes_, pe, {}, &std::pair<int, int>::first);
  return found != ranks_of_pes_.end() && found->first == pe ? found->second : -1;
}

int local_team::rank_at(int root, int position) const { return tree_->rank_at(root, position); }

void local_team::check_rank(int rank, const char* what) const {
  if (rank < 0 || rank >= size())
    throw std::out_of_range(fmt::format("tri::team: {} is rank {}; there are ranks 0..{}", what, rank, size() - 1));
}

team_place local_team::place(tree_order order, int root) const {
  return (order == tree_order::ranks && tree_of_ranks_ != nullptr ? tree_of_ranks_ : tree_)->place(rank_, root);
}

std::string local_team::describe(std::uint64_t number) const {
  return fmt::format("tri::team: collective {} of a team of {}", number, size());
}

team_operation* local_team::called_before(sched::pe& here, std::uint64_t number, const void* kind, namer name, int root,
                                          std::exception_ptr& failed) {
  const auto found = under_way_.find(number);
  if (found == under_way_.end()) return nullptr;
  if (team_operation* const known = found->second.operation.get(); known != nullptr) {
    if (known->kind() == kind && known->place().root == root) return known;
    fail_difference(here, *known, name(), root, rank_);
  }
  failed = std::make_exception_ptr(team_error(under_way_.extract(number).mapped().failure));
  return nullptr;
}

void local_team::check_sender(const sched::envelope& message, const team_step& step) const {
  if (step.from < 0 || step.from >= size() || step.from == rank_ ||
      pe_of(step.from) != static_cast<int>(message.source))
    refuse_arguments(message, "its sender does not have the rank that it names");
  if (step.root < 0 || step.root >= size()) refuse_arguments(message, "its root is no member");
}

team_operation* local_team::of_message(sched::pe& here, const sched::envelope& message, const team_step& step,
                                       const void* kind, namer name, bool goes_up, maker make) {
  check_sender(message, step);
  count_message(here, step.from);
  const auto found = under_way_.find(step.number);
  if (found == under_way_.end() ? step.number < called_ : found->second.operation == nullptr) return nullptr;
  team_operation& known = found == under_way_.end() ? add(make()) : *found->second.operation;
  if (known.kind() != kind || known.place().root != step.root) {
    fail_difference(here, known, name(), step.root, step.from);
    return nullptr;
  }
  const std::size_t child = known.child_of(step.from);
  const bool is_expected = goes_up ? child < known.place().children.size() && !known.has_come_[child]
                                   : step.from == known.place().parent && known.progress_.waits_for_parent();
  if (!is_expected) refuse_arguments(message, "its sender is not a neighbour in the tree, or has sent it before");
  return &known;
}

void local_team::count_message(const sched::pe& here, int rank) const {
  const sched::runtime& job = here.job();
  if (!job.is_on_own_host(pe_of(rank))) job.process_record_of(job.process())->between_hosts.team_messages.add();
}

team_operation& local_team::add(std::unique_ptr<team_operation> made) {
  record& added = under_way_[made->number()];
  added.operation = std::move(made);
  return *added.operation;
}

void local_team::advance(sched::pe& here, team_operation& operation) {
  while (const auto next = operation.progress_.next()) {
    if (*next == collective_progress::action::finish) {
      const auto last = under_way_.extract(operation.number());  // first: the program may go on in it
      return last.mapped().operation->finish();
    }
    try {
      if (*next == collective_progress::action::combine)
        operation.combine(here, *this);
      else
        operation.hand_down(here, *this);
    } catch (...) {
      return fail(here, operation.number(),
                  fmt::format("{}, {}, on rank {}: {}", describe(operation.number()), operation.name(), rank_,
                              text_of_current_exception()),
                  rank_);
    }
  }
}

void local_team::fail_difference(sched::pe& here, const team_operation& known, const std::string& name, int root,
                                 int rank) {
  const auto call = [](const std::string& of, int its_root) { return fmt::format("{} with root {}", of, its_root); };
  fail(here, known.number(),
       fmt::format("{}: the members do not call the same: rank {} calls {}, rank {} {}", describe(known.number()), rank,
                   call(name, root), known.first_seen_at(), call(known.name(), known.place().root)),
       rank_);
}

void local_team::fail(sched::pe& here, std::uint64_t number, const std::string& text, int from) {
  const team_place place = tree_->place(rank_, 0);
  const auto pass_on = [&](int rank) {
    if (rank != from && rank >= 0) failure_message::send(here, *this, rank, {number, rank_, 0}, text);
  };
  pass_on(place.parent);
  for (const team_place::child& child : place.children) pass_on(child.rank);

  const auto found = under_way_.find(number);
  if (found == under_way_.end()) {
    if (number >= called_) under_way_[number].failure = text;
    return;
  }
  record& failed = found->second;
  if (failed.operation == nullptr) return;  // the first one counts
  if (!failed.operation->is_called()) {
    failed.failure = text;
    failed.operation.reset();
    return;
  }
  const auto last = under_way_.extract(found);  // first: the program may go on in it
  last.mapped().operation->fail(std::make_exception_ptr(team_error(text)));
}

std::string local_team::describe_waiting() const {
  std::string text;
  for (const auto& [number, each] : under_way_)
    if (each.operation != nullptr)
      text += fmt::format("\n  PE {}: {} ({}, rank {} of {}) waits {}", pe_of(rank_), each.operation->name(), number,
                          rank_, size(), each.operation->describe_missing());
  return text;
}

}  // namespace tri::objects
