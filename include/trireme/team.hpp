// Teams: some PEs of the job, numbered by rank, with collectives (as MPI communicators, or UPC++ teams). Each member
// calls the same collectives in the same order; a call returns at once, and its future is ready when this member's part
// is done. Any number may be under way, of one team and of several.
//
//   tri::team world = tri::team::world();
//   const tri::team row = co_await world.split(world.rank() / columns, world.rank() % columns);
//   const double norm = co_await row.allreduce(own, tri::sum);
//
// A value of any type that may be an argument of an entry method; with tri::elementwise(...) containers are reduced
// element by element. Messages inside a host go through its memory, those between hosts along a tree of the hosts, so
// that each talks to O(log hosts) others.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "trireme/detail/objects/team_collective.hpp"
#include "trireme/future.hpp"
#include "trireme/reducers.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// A collective that failed on all members that had not ended it: they called different ones or with different roots,
/// values did not fit (vectors of different lengths), or an operation threw.
struct team_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// For team::split: this member is in none of the new teams.
inline constexpr int no_colour = -1;

/// Handle of a team: plain data. All calls on PEs that are members, else they throw std::logic_error; so does every
/// call on a team that was freed. A rank that does not exist: std::out_of_range.
class team {
 public:
  /// Names no team.
  team() = default;
  /// All PEs of the job, by number; those of the own host, by number. They cannot be freed.
  static team world();
  static team host();
  /// False: it names no team.
  explicit operator bool() const { return id_ != 0; }
  friend bool operator==(const team&, const team&) = default;

  int rank() const { return local()->rank(); }
  int size() const { return local()->size(); }
  int pe_of(int rank) const;
  /// Nothing: the PE is not a member.
  std::optional<int> rank_of_pe(int pe) const;
  /// The rank that a member of this team has in another one, of which the caller must be a member, too.
  std::optional<int> translate(int rank, const team& to) const { return to.rank_of_pe(pe_of(rank)); }

  /// Ready when all members have called it.
  future<void> barrier() const;

  /// The value of the root; that of the others is ignored. Members pass it on before they call.
  template <class T>
  future<T> broadcast(T value, int root) const {
    return start<objects::team_broadcast<T>>(root, std::move(value));
  }
  /// The reduced value, on the root. Elsewhere nothing, and ready when the values of the members below were passed on.
  template <class T, class Reducer>
  auto reduce(T value, Reducer, int root) const {
    return start<objects::team_reduce<Reducer, T>>(root, std::move(value));
  }
  /// The reduced value, on all members, of the same bits: values are combined in an order that depends on the team
  /// only.
  template <class T, class Reducer>
  auto allreduce(T value, Reducer) const {
    return start<objects::team_allreduce<Reducer, T>>(0, std::move(value));
  }
  /// The values of ranks 0..own, combined in this order.
  template <class T, class Reducer>
  auto scan(T value, Reducer) const {
    using result = objects::result_of_reduction<Reducer, T>;
    return start<objects::team_scan<Reducer, T, true>, result>(
        0, std::move(value), [](std::optional<result>&& found) { return std::move(*found); });
  }
  /// Those of the ranks before the own one; nothing on rank 0.
  template <class T, class Reducer>
  future<std::optional<objects::result_of_reduction<Reducer, T>>> exscan(T value, Reducer) const {
    return start<objects::team_scan<Reducer, T, false>>(0, std::move(value));
  }
  /// The values of all members, by rank, on the root; elsewhere none.
  template <class T>
  future<std::vector<T>> gather(T value, int root) const {
    return start<objects::team_gather<T>>(root, std::move(value));
  }
  template <class T>
  future<std::vector<T>> allgather(T value) const {
    return start<objects::team_allgather<T>>(0, std::move(value));
  }
  /// To each member its value of the root's, one for each rank; those of the others are ignored.
  template <class T>
  future<T> scatter(std::vector<T> values, int root) const {
    return start<objects::team_scatter<T>>(root, std::move(values));
  }

  /// New teams: of the members with the same colour, ranked by key, then by rank. Colours are 0 or more; with no_colour
  /// the result names no team.
  future<team> split(int colour, int key) const;
  /// Called by all members; ready when all have. No collective may be called afterwards; those under way are completed.
  future<void> free() const;

 private:
  explicit team(std::uint64_t id) : id_(id) {}
  std::shared_ptr<objects::local_team> local() const { return objects::team_here(sched::this_pe(), id_); }
  template <class Kind>
  future<typename Kind::result> start(int root, typename Kind::own value) const {
    return start<Kind, typename Kind::result>(root, std::move(value),
                                              [](typename Kind::result&& result) { return std::move(result); });
  }
  template <class Kind, class Result, class Convert>
  future<Result> start(int root, typename Kind::own value, Convert convert) const {
    const auto members = local();
    members->check_rank(root, "the root");
    future<Result> result;
    objects::start_collective<Kind>(
        sched::this_pe(), *members, root, std::move(value),
        [to = result.get_promise(), convert](std::exception_ptr error, typename Kind::result* found) {
          if (found == nullptr) return objects::complete_future<Result>(to, std::move(error), nullptr);
          objects::stored<Result> converted = convert(std::move(*found));
          objects::complete_future<Result>(to, nullptr, &converted);
        });
    return result;
  }
  std::uint64_t id_ = 0;
};

}  // namespace tri

#pragma GCC visibility pop
