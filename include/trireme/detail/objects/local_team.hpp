// A team on one member: who the members are, and its collectives that are under way. All members count the collectives
// alike, so a message names one by its number; a message may come before the program of this member calls it. Of one
// PE, used by its thread only.
//
// A collective that cannot be completed fails on all members: whoever finds out says so along the tree of rank 0, and
// each member passes it on. Members on which it has ended already are not concerned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/detail/objects/collective_progress.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/sched/pe.hpp"

namespace tri::objects {
class team_tree;
}

#pragma GCC visibility push(default)

namespace tri::objects {

class local_team;

/// Where a member is in the tree of a collective. Positions count members in the order of the tree (team_tree.hpp);
/// those of a subtree are a range that begins with its root.
struct team_place {
  struct child {
    int rank;
    int first;    // position, counted from that of the parent
    int members;  // of its subtree
  };
  int rank = 0;
  int root = 0;
  int size = 1;
  int parent = -1;  // -1: this is the root
  int members = 1;  // of its subtree
  std::vector<child> children;
  bool is_root() const { return parent < 0; }
};

/// What a message of a collective says beside its value. The team is the element of the envelope.
struct team_step {
  std::uint64_t number = 0;  // of the collective
  std::int32_t from = 0;     // ranks
  std::int32_t root = 0;
};

/// Which tree a collective needs: one that spares messages between hosts, or one in which every subtree is a range of
/// ranks. With members that are numbered host by host they are the same.
enum class tree_order : std::uint8_t { hosts, ranks };

/// A collective under way on this member; team_collective is the one with values.
class team_operation {
 public:
  team_operation(const void* kind, team_place place, std::uint64_t number, int first_seen_at,
                 collective_progress::direction goes);
  team_operation(const team_operation&) = delete;
  team_operation& operator=(const team_operation&) = delete;
  virtual ~team_operation() = default;

  /// "allreduce of double by ...".
  virtual std::string name() const = 0;
  /// The program has called it, and gets this error now.
  virtual void fail(std::exception_ptr error) = 0;

  /// &kind_of_collective of the class.
  const void* kind() const { return kind_; }
  const team_place& place() const { return place_; }
  std::uint64_t number() const { return number_; }
  /// The rank that has called it, or sent the first message of it.
  int first_seen_at() const { return first_seen_at_; }
  bool is_called() const { return progress_.is_called(); }
  std::size_t child_of(int rank) const;  // which one; as many as there are: it is none
  std::string describe_missing() const;

 protected:
  friend class local_team;
  virtual void combine(sched::pe& here, const local_team& team) = 0;
  virtual void hand_down(sched::pe& here, const local_team& team) = 0;
  virtual void finish() = 0;

  team_step step() const { return {number_, place_.rank, place_.root}; }
  collective_progress progress_;
  std::vector<bool> has_come_;  // by child

 private:
  const void* kind_;
  team_place place_;
  std::uint64_t number_;
  int first_seen_at_;
};

template <class Kind>
inline char kind_of_collective = 0;

class local_team {
 public:
  /// `pes`: by rank. The calling PE is one of them.
  local_team(const sched::pe& here, std::uint64_t id, std::vector<int> pes);
  local_team(const local_team&) = delete;
  local_team& operator=(const local_team&) = delete;
  ~local_team();

  std::uint64_t id() const { return id_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(pes_.size()); }
  int pe_of(int rank) const { return pes_[static_cast<std::size_t>(rank)]; }
  int rank_of_pe(int pe) const;  // -1: not a member
  int rank_at(int root, int position) const;
  /// Throws std::out_of_range with the ranks that there are.
  void check_rank(int rank, const char* what) const;

  team_place place(tree_order order, int root) const;
  std::uint64_t next_number() { return called_++; }

  /// The collective that is called now with this number; null: no message of it has come. Throws nothing: one of
  /// another kind, or with another root, fails on all members, and `failed` gets the error.
  /// `name` is asked for errors only.
  using namer = std::string (*)();
  team_operation* called_before(sched::pe& here, std::uint64_t number, const void* kind, namer name, int root,
                                std::exception_ptr& failed);
  using maker = os::function_ref<std::unique_ptr<team_operation>()>;
  /// The collective of a message that goes up or down. Null: it has failed or has ended. Ends the job when no member
  /// would send that.
  team_operation* of_message(sched::pe& here, const sched::envelope& message, const team_step& step, const void* kind,
                             namer name, bool goes_up, maker make);
  team_operation& add(std::unique_ptr<team_operation> made);
  /// Does what can be done. The operation is gone afterwards if it was the last of it.
  void advance(sched::pe& here, team_operation& operation);
  /// `from`: the rank that said so; the own one: it was found here.
  void fail(sched::pe& here, std::uint64_t number, const std::string& text, int from);

  /// Ends the job when the sender of the message does not have the rank that the step names.
  void check_sender(const sched::envelope& message, const team_step& step) const;

  /// A message to or from a member.
  void count_message(const sched::pe& here, int rank) const;

  /// No collective may be called any more.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }
  bool has_collectives() const { return !under_way_.empty(); }
  /// The collective with this number has not ended.
  bool is_under_way(std::uint64_t number) const { return under_way_.contains(number); }
  std::string describe_waiting() const;

 private:
  struct record {
    std::unique_ptr<team_operation> operation;
    std::string failure;  // not empty: it has failed before it was called
  };
  void fail_difference(sched::pe& here, const team_operation& known, const std::string& name, int root, int rank);
  std::string describe(std::uint64_t number) const;

  const std::uint64_t id_;
  const std::vector<int> pes_;
  int rank_ = 0;
  std::unique_ptr<const team_tree> tree_;
  std::unique_ptr<const team_tree> tree_of_ranks_;  // null: it is the same
  std::vector<std::pair<int, int>> ranks_of_pes_;   // sorted; empty: PEs ascend
  std::uint64_t called_ = 0;
  bool is_closed_ = false;
  std::map<std::uint64_t, record> under_way_;
};

/// The team on this PE. Throws std::logic_error when the PE is not a member, or the team was freed.
std::shared_ptr<local_team> team_here(sched::pe& here, std::uint64_t team);
/// Null: the message waits until this member knows the team, or belongs to one that was freed and is dropped.
std::shared_ptr<local_team> team_of_message(sched::pe& here, sched::envelope& message);
/// A collective has ended: a team that was freed goes with its last one.
void collective_ended(sched::pe& here, const local_team& team);
/// The main program does not wait for a collective that has ended already, as the root of a broadcast, and may compute
/// for long now: what it has sent to other hosts leaves. In methods nothing: the PE goes on when they end.
void let_leave(sched::pe& here);

}  // namespace tri::objects

#pragma GCC visibility pop
