// The collectives of teams with values: what goes up, what comes down, and what the program gets, for each kind; and
// the messages that carry it. What a kind has is in the comment of team_collective.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "trireme/detail/objects/local_team.hpp"
#include "trireme/detail/objects/post.hpp"
#include "trireme/detail/objects/type_name.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/future.hpp"
#include "trireme/reducers.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

/// Null: it failed, with the error.
template <class Result>
using collective_completion = os::unique_function<void(std::exception_ptr, Result*)>;

template <class Kind>
struct team_message_up;
template <class Kind>
struct team_message_down;

/// One collective of that kind on this member. A kind is a class with
///   own, up, down, result       types: of the call; of messages up and down the tree; of what the call yields
///   goes, order                 which of the messages there are; which tree
///   is_immediate                its messages pass those that wait
///   name()                      for errors
///   combine(place, own, children's ups) -> up                   if values go up
///   turn(team, place, own or up) -> down                        on the root, if values come down
///   for_child(place, child, down&) -> down                      if values come down
///   finish(team, place, down&&) -> result                       what the program gets
///   finish(team, place, up&&) -> result                         on the root, if nothing comes down; others get
///   result()
/// It may keep state from one to the next. What they throw fails the collective on all members.
template <class Kind>
class team_collective final : public team_operation {
 public:
  using own = typename Kind::own;
  using up = typename Kind::up;
  using down = typename Kind::down;
  using result = typename Kind::result;
  static constexpr bool goes_up = Kind::goes != collective_progress::direction::down;
  static constexpr bool goes_down = Kind::goes != collective_progress::direction::up;

  team_collective(const local_team& team, std::uint64_t number, int root, int first_seen_at)
      : team_operation(&kind_of_collective<Kind>, team.place(Kind::order, root), number, first_seen_at, Kind::goes),
        team_(team),
        from_children_(place().children.size()) {}

  std::string name() const override { return Kind::name(); }
  void fail(std::exception_ptr error) override { std::exchange(completed_, {})(std::move(error), nullptr); }

  void call(own&& value, collective_completion<result> completed) {
    own_ = std::move(value);
    completed_ = std::move(completed);
    progress_.called();
  }
  void take_up(std::size_t child, up&& value) {
    from_children_[child] = std::move(value);
    has_come_[child] = true;
    progress_.child_arrived();
  }
  void take_down(down&& value) {
    down_ = std::move(value);
    progress_.parent_arrived();
  }

 private:
  void combine(sched::pe& here, const local_team& team) override {
    if constexpr (goes_up) {
      std::vector<up> children;
      children.reserve(from_children_.size());
      for (auto& each : from_children_) children.push_back(std::move(*each));
      from_children_.clear();
      up_ = kind_.combine(place(), std::move(*own_), std::move(children));
      if (!place().is_root()) team_message_up<Kind>::send(here, team, place().parent, step(), std::move(*up_));
    }
  }
  void hand_down(sched::pe& here, const local_team& team) override {
    if constexpr (goes_down) {
      if (place().is_root()) {
        if constexpr (goes_up)
          down_ = kind_.turn(team, place(), std::move(*up_));
        else
          down_ = kind_.turn(team, place(), std::move(*own_));
      }
      for (const team_place::child& child : place().children)
        team_message_down<Kind>::send(here, team, child.rank, step(), kind_.for_child(place(), child, *down_));
    }
  }
  // What goes wrong now concerns this member alone: it has done its part for the others.
  void finish() override {
    std::optional<result> value;
    try {
      if constexpr (goes_down)
        value.emplace(kind_.finish(team_, place(), std::move(*down_)));
      else
        value.emplace(place().is_root() ? kind_.finish(team_, place(), std::move(*up_)) : result());
    } catch (...) {
      return fail(std::current_exception());
    }
    std::exchange(completed_, {})(nullptr, &*value);
  }

  const local_team& team_;
  Kind kind_;
  std::optional<own> own_;
  std::vector<std::optional<up>> from_children_;
  std::optional<up> up_;
  std::optional<down> down_;
  collective_completion<result> completed_;
};

template <class Kind, class Value>
struct team_message {
  using tuple = std::tuple<team_step, Value>;
  static void post(sched::pe& here, const local_team& team, std::uint32_t handler, int rank, const team_step& step,
                   Value&& value) {
    const int pe = team.pe_of(rank);
    team.count_message(here, rank);
    post_packed_as<Kind::is_immediate>(
        here, pe, handler, 0, team.id(),
        pack_arguments<tuple>(here, here.is_in_this_process(pe), false, step, std::move(value)));
  }
  /// Calls take(operation, step, value) if there is a collective that wants it.
  template <class Take>
  static void receive(sched::pe& here, sched::envelope& message, bool goes_up, Take&& take) {
    const auto team = team_of_message(here, message);
    if (team == nullptr) return;
    unpacked_arguments<tuple> arguments(message);
    auto& [step, value] = arguments.values();
    const method_scope scope(pe_objects::of(here));
    auto* const found = static_cast<team_collective<Kind>*>(team->of_message(
        here, message, step, &kind_of_collective<Kind>, &Kind::name, goes_up, [&]() -> std::unique_ptr<team_operation> {
          return std::make_unique<team_collective<Kind>>(*team, step.number, step.root, step.from);
        }));
    if (found == nullptr) return;
    take(*found, step, std::move(value));
    team->advance(here, *found);
    collective_ended(here, *team);
  }
};

template <class Kind>
struct team_message_up : team_message<Kind, typename Kind::up> {
  using base = team_message<Kind, typename Kind::up>;
  static void send(sched::pe& here, const local_team& team, int rank, const team_step& step,
                   typename Kind::up&& value) {
    base::post(here, team, handler, rank, step, std::move(value));
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    base::receive(here, message, true, [](auto& operation, const team_step& step, typename Kind::up&& value) {
      operation.take_up(operation.child_of(step.from), std::move(value));
    });
  }
  static inline const std::uint32_t handler =
      register_handler_of<typename base::tuple>(&deliver, "up a team, " + Kind::name());
};

template <class Kind>
struct team_message_down : team_message<Kind, typename Kind::down> {
  using base = team_message<Kind, typename Kind::down>;
  static void send(sched::pe& here, const local_team& team, int rank, const team_step& step,
                   typename Kind::down&& value) {
    base::post(here, team, handler, rank, step, std::move(value));
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    base::receive(here, message, false, [](auto& operation, const team_step&, typename Kind::down&& value) {
      operation.take_down(std::move(value));
    });
  }
  static inline const std::uint32_t handler =
      register_handler_of<typename base::tuple>(&deliver, "down a team, " + Kind::name());
};

/// Sets a future of this PE, or lets it fail.
template <class R>
void complete_future(const promise<R>& of, std::exception_ptr error, stored<R>* value) {
  pe_objects& objects = pe_objects::of(sched::this_pe());
  auto* const found = static_cast<result_state<R>*>(objects.results.find(of.slot, of.generation));
  if (found == nullptr) return;  // the program does not want it any more
  const method_scope scope(objects);
  if (value == nullptr)
    found->fail(std::move(error));
  else
    found->set(std::move(*value));
}

/// The next collective of the team, as all members call it.
template <class Kind>
void start_collective(sched::pe& here, local_team& team, int root, typename Kind::own&& value,
                      collective_completion<typename Kind::result> completed) {
  team.check_rank(root, "the root");
  const std::uint64_t number = team.next_number();
  std::exception_ptr failed;
  auto* operation = static_cast<team_collective<Kind>*>(
      team.called_before(here, number, &kind_of_collective<Kind>, &Kind::name, root, failed));
  if (failed != nullptr) {
    completed(std::move(failed), nullptr);
    return let_leave(here);
  }
  if (operation == nullptr)
    operation = &static_cast<team_collective<Kind>&>(
        team.add(std::make_unique<team_collective<Kind>>(team, number, root, team.rank())));
  operation->call(std::move(value), std::move(completed));
  team.advance(here, *operation);
  const bool is_over = !team.is_under_way(number);  // `operation` is gone then
  collective_ended(here, team);
  if (is_over) let_leave(here);
}

// ---- the kinds

struct goes_up_and_down {
  static constexpr auto goes = collective_progress::direction::up_and_down;
  static constexpr auto order = tree_order::hosts;
  static constexpr bool is_immediate = false;
};
struct goes_up_only : goes_up_and_down {
  static constexpr auto goes = collective_progress::direction::up;
  using down = std::monostate;
};
struct goes_down_only : goes_up_and_down {
  static constexpr auto goes = collective_progress::direction::down;
  using up = std::monostate;
};

struct team_barrier : goes_up_and_down {
  using own = std::monostate;
  using up = std::monostate;
  using down = std::monostate;
  using result = std::monostate;
  static std::string name() { return "barrier"; }
  static up combine(const team_place&, own&&, std::vector<up>&&) { return {}; }
  static down turn(const local_team&, const team_place&, up&&) { return {}; }
  static down for_child(const team_place&, const team_place::child&, down&) { return {}; }
  static result finish(const local_team&, const team_place&, down&&) { return {}; }
};

template <class T>
struct team_broadcast : goes_down_only {
  using own = T;
  using down = T;
  using result = T;
  static std::string name() { return "broadcast of " + type_name<T>(); }
  static down turn(const local_team&, const team_place&, own&& value) { return std::move(value); }
  static down for_child(const team_place&, const team_place::child&, const down& value) { return value; }
  static result finish(const local_team&, const team_place&, down&& value) { return std::move(value); }
};

/// What reductions have in common. Values are combined in the order of the tree, whenever they come.
template <class Reducer, class T, class Base>
struct team_reduction : Base {
  static constexpr bool is_immediate = passes_the_queues<Reducer>;
  using own = T;
  using up = partial_of<Reducer, T>;
  static up start(const team_place& place, own&& value) {
    return Reducer::start(static_cast<std::uint64_t>(place.rank), std::move(value));
  }
  static up combine(const team_place& place, own&& value, std::vector<up>&& children) {
    up sum = start(place, std::move(value));
    for (up& each : children) Reducer::combine(sum, std::move(each));
    return sum;
  }
  static std::string operands() { return " of " + type_name<T>() + " by " + type_name<Reducer>(); }
};

template <class Reducer, class T>
struct team_reduce : team_reduction<Reducer, T, goes_up_only> {
  using up = partial_of<Reducer, T>;
  using result = std::optional<result_of_reduction<Reducer, T>>;
  static std::string name() { return "reduce" + team_reduce::operands(); }
  static result finish(const local_team&, const team_place&, up&& sum) { return Reducer::finish(std::move(sum)); }
};

template <class Reducer, class T>
struct team_allreduce : team_reduction<Reducer, T, goes_up_and_down> {
  using up = partial_of<Reducer, T>;
  using down = result_of_reduction<Reducer, T>;
  using result = down;
  static std::string name() { return "allreduce" + team_allreduce::operands(); }
  static down turn(const local_team&, const team_place&, up&& sum) { return Reducer::finish(std::move(sum)); }
  static down for_child(const team_place&, const team_place::child&, const down& value) { return value; }
  static result finish(const local_team&, const team_place&, down&& value) { return std::move(value); }
};

/// Going up, the sums of subtrees; coming down, the sum of all ranks before the subtree.
template <class Reducer, class T, bool Inclusive>
struct team_scan : team_reduction<Reducer, T, goes_up_and_down> {
  static constexpr auto order = tree_order::ranks;
  using base = team_reduction<Reducer, T, goes_up_and_down>;
  using own = T;
  using up = partial_of<Reducer, T>;
  using down = std::optional<up>;
  using result = std::optional<result_of_reduction<Reducer, T>>;
  static std::string name() { return (Inclusive ? "scan" : "exscan") + base::operands(); }

  up combine(const team_place& place, own&& value, std::vector<up>&& children) {
    up sum = base::start(place, std::move(value));
    for (up& each : children) {
      before_children.push_back(sum);
      Reducer::combine(sum, std::move(each));
    }
    own_value = before_children.empty() ? sum : before_children.front();
    return sum;
  }
  static down turn(const local_team&, const team_place&, up&&) { return {}; }
  down for_child(const team_place&, const team_place::child&, const down& before) {
    return joined(before, std::move(before_children[handed_down++]));
  }
  result finish(const local_team&, const team_place&, down&& before) {
    if constexpr (Inclusive) before = joined(before, std::move(*own_value));
    if (!before.has_value()) return {};
    return Reducer::finish(std::move(*before));
  }
  static down joined(const down& before, up&& value) {
    if (!before.has_value()) return std::move(value);
    up sum = *before;
    Reducer::combine(sum, std::move(value));
    return sum;
  }
  std::vector<up> before_children;  // of this subtree
  std::optional<up> own_value;
  std::size_t handed_down = 0;
};

/// The values of a subtree, in the order of the tree.
template <class T, class Base>
struct team_gathering : Base {
  using own = T;
  using up = std::vector<T>;
  static up combine(const team_place& place, own&& value, std::vector<up>&& children) {
    up all;
    all.reserve(static_cast<std::size_t>(place.members));
    all.push_back(std::move(value));
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].size() != static_cast<std::size_t>(place.children[i].members))
        throw std::runtime_error("a subtree sent the values of another number of members");
      for (auto&& each : children[i]) all.push_back(std::move(each));
    }
    return all;
  }
  static std::vector<T> by_rank(const local_team& team, const team_place& place, up&& by_position) {
    std::vector<std::size_t> position_of(by_position.size());
    for (std::size_t i = 0; i < by_position.size(); ++i)
      position_of[static_cast<std::size_t>(team.rank_at(place.root, static_cast<int>(i)))] = i;
    std::vector<T> all;
    all.reserve(by_position.size());
    for (const std::size_t position : position_of) all.push_back(std::move(by_position[position]));
    return all;
  }
};

template <class T>
struct team_gather : team_gathering<T, goes_up_only> {
  using up = std::vector<T>;
  using result = std::vector<T>;
  static std::string name() { return "gather of " + type_name<T>(); }
  static result finish(const local_team& team, const team_place& place, up&& all) {
    return team_gather::by_rank(team, place, std::move(all));
  }
};

template <class T>
struct team_allgather : team_gathering<T, goes_up_and_down> {
  using up = std::vector<T>;
  using down = std::vector<T>;
  using result = std::vector<T>;
  static std::string name() { return "allgather of " + type_name<T>(); }
  static down turn(const local_team& team, const team_place& place, up&& all) {
    return team_allgather::by_rank(team, place, std::move(all));
  }
  static down for_child(const team_place&, const team_place::child&, const down& all) { return all; }
  static result finish(const local_team&, const team_place&, down&& all) { return std::move(all); }
};

template <class T>
struct team_scatter : goes_down_only {
  using own = std::vector<T>;
  using down = std::vector<T>;
  using result = T;
  static std::string name() { return "scatter of " + type_name<T>(); }
  static down turn(const local_team& team, const team_place& place, own&& values) {
    if (values.size() != static_cast<std::size_t>(place.size))
      throw std::invalid_argument("the root gave " + std::to_string(values.size()) + " values for " +
                                  std::to_string(place.size) + " members");
    down by_position;
    by_position.reserve(values.size());
    for (int i = 0; i < place.size; ++i)
      by_position.push_back(std::move(values[static_cast<std::size_t>(team.rank_at(place.root, i))]));
    return by_position;
  }
  static down for_child(const team_place& place, const team_place::child& child, down& values) {
    if (values.size() != static_cast<std::size_t>(place.members))
      throw std::runtime_error("the values of another number of members came");
    const auto first = values.begin() + child.first;
    return down(std::make_move_iterator(first), std::make_move_iterator(first + child.members));
  }
  static result finish(const local_team&, const team_place&, down&& values) { return std::move(values.at(0)); }
};

}  // namespace tri::objects

#pragma GCC visibility pop
