#include "trireme/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "objects/teams/local_teams.hpp"
#include "trireme/detail/objects/pe_objects.hpp"

namespace tri {
namespace objects {
namespace {

struct split_call {
  std::int32_t colour;
  std::int32_t key;
  std::uint32_t drawn;  // names the new team if its rank 0 is this member
};
struct team_split : team_allgather<split_call> {
  static std::string name() { return "split"; }
};
struct team_free : team_barrier {
  static std::string name() { return "free"; }
};

/// Makes the new team of this member, and returns its name; 0: it is in none.
std::uint64_t make_new_team(sched::pe& here, const local_team& of, const std::vector<split_call>& calls) {
  const split_call& own = calls[static_cast<std::size_t>(of.rank())];
  if (own.colour == no_colour) return 0;
  std::vector<int> ranks;
  for (int rank = 0; rank < of.size(); ++rank)
    if (calls[static_cast<std::size_t>(rank)].colour == own.colour) ranks.push_back(rank);
  const auto key_of = [&](int rank) { return calls[static_cast<std::size_t>(rank)].key; };
  std::ranges::stable_sort(ranks, {}, key_of);
  const std::uint64_t id =
      local_teams::name_of(of.pe_of(ranks.front()), calls[static_cast<std::size_t>(ranks.front())].drawn);
  std::vector<int> pes;
  pes.reserve(ranks.size());
  for (const int rank : ranks) pes.push_back(of.pe_of(rank));
  pe_objects::of(here).teams().add(id, std::move(pes));
  return id;
}

}  // namespace
}  // namespace objects

team team::world() { return team(objects::local_teams::world); }
team team::host() { return team(objects::local_teams::host); }

int team::pe_of(int rank) const {
  const auto members = local();
  members->check_rank(rank, "the member");
  return members->pe_of(rank);
}

std::optional<int> team::rank_of_pe(int pe) const {
  const int rank = local()->rank_of_pe(pe);
  return rank < 0 ? std::nullopt : std::optional(rank);
}

future<void> team::barrier() const {
  return start<objects::team_barrier, void>(0, {}, [](std::monostate) { return std::monostate(); });
}

future<team> team::split(int colour, int key) const {
  if (colour < no_colour)
    throw std::invalid_argument(
        fmt::format("tri::team: colour {} of a split; colours are 0 or more, or tri::no_colour", colour));
  auto& here = sched::this_pe();
  const auto members = local();
  const objects::split_call own{colour, key, objects::pe_objects::of(here).teams().draw_number()};
  return start<objects::team_split, team>(
      0, own, [&here, of = members.get()](std::vector<objects::split_call>&& calls) {  // `of` has the collective
        return team(objects::make_new_team(here, *of, calls));
      });
}

future<void> team::free() const {
  if (id_ == objects::local_teams::world || id_ == objects::local_teams::host)
    throw std::logic_error("tri::team: the teams of the world and of the host cannot be freed");
  const auto members = local();
  auto result = start<objects::team_free, void>(0, {}, [](std::monostate) { return std::monostate(); });
  members->close();
  objects::collective_ended(sched::this_pe(), *members);
  return result;
}

}  // namespace tri
