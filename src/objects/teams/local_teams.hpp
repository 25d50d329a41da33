// The teams of one PE, by their names. The two that exist from the start are made when they are first used; a split
// makes the others, and takes in the messages that came before its own result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "objects/location/number_set.hpp"
#include "trireme/detail/objects/local_team.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::objects {

class local_teams {
 public:
  static constexpr std::uint64_t world = 1;
  static constexpr std::uint64_t host = 2;
  static constexpr std::uint64_t arrays =
      3;  ///< all PEs once more: their collectives for global arrays are numbered apart
  /// Of a team whose rank 0 is on that PE, and has drawn the number there.
  static constexpr std::uint64_t name_of(int pe, std::uint32_t drawn) {
    return (static_cast<std::uint64_t>(pe) + 1) << 32 | drawn;
  }

  explicit local_teams(sched::pe& here) : here_(here) {}

  /// Made by team::split, of some PEs; the others have names up to this.
  static constexpr bool is_made_by_split(std::uint64_t id) { return id > arrays; }

  std::uint32_t draw_number() { return ++drawn_; }
  std::uint32_t drawn() const { return drawn_; }
  void draw_behind(std::uint32_t number) { drawn_ = std::max(drawn_, number); }
  void visit(os::function_ref<void(const local_team&)> use) const {
    for (const auto& [id, team] : known_) use(*team);
  }
  /// Null: this PE does not know it.
  std::shared_ptr<local_team> find(std::uint64_t id);
  bool was_freed(std::uint64_t id) const;
  void add(std::uint64_t id, std::vector<int> pes);
  void remove(std::uint64_t id);
  /// Keeps a message for a team that may come; takes over the payload.
  void hold(const sched::envelope& message);
  /// At the end of the job.
  void drop();
  std::string describe_waiting() const;

 private:
  sched::pe& here_;
  std::uint32_t drawn_ = 0;
  bool is_ending_ = false;
  std::unordered_map<std::uint64_t, std::shared_ptr<local_team>> known_;
  std::unordered_map<std::uint64_t, std::vector<sched::envelope>> early_;
  std::map<std::uint32_t, number_set> freed_;  // by the first half of the name
};

}  // namespace tri::objects
