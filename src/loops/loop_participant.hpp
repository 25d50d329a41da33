// The calling thread as a participant of loops, and the team that shares them: a PE shares with the PEs of its process,
// any other thread with the team of the process (team.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "board/board_pe.hpp"

namespace tri::schedules {
struct loop_layout;
}  // namespace tri::schedules

namespace tri::loops {

class loop_call;

/// The calling thread as a poster of loops. Used by that thread alone.
class loop_participant {
 public:
  loop_participant(board::board_pe& board, std::uint32_t first, std::uint32_t participants, bool dedicated)
      : board_(&board), first_(first), participants_(participants), dedicated_(dedicated) {}
  virtual ~loop_participant() = default;
  loop_participant(const loop_participant&) = delete;
  loop_participant& operator=(const loop_participant&) = delete;

  board::board_pe& board() const { return *board_; }
  std::uint32_t first() const { return first_; }                ///< PE of the board with participant number 0
  std::uint32_t participants() const { return participants_; }  ///< this thread included
  /// The participant number of a PE of the board. A thread that only posts has the slot, and the number, of the first
  /// PE: no other thread runs chunks there.
  int number_of(int pe) const {
    const std::uint32_t number = static_cast<std::uint32_t>(pe) - first_;  // wraps for PEs below
    return number < participants_ ? static_cast<int>(number) : 0;
  }
  int number() const { return number_of(static_cast<int>(board_->pe())); }
  /// The others do nothing but loops, so each of them comes to every loop that is posted by a thread outside of loops.
  bool others_always_come() const { return dedicated_ && depth == 0; }

  /// Threads that may claim chunks of this one's loops: posters also have slots on the board.
  std::uint32_t claimers() const { return board_->pe_count(); }

  /// Wakes up to `count` sleepers, after something was posted.
  virtual void wake(std::uint32_t count) = 0;
  /// Whether another participant is idle.
  virtual bool any_idle() const = 0;

  int depth = 0;  ///< loops that this thread is in, as poster or helper

  bool counts_help = false;         ///< others are to count their work for loops that this thread posts
  std::uint64_t help_received = 0;  ///< that work, in ticks of their os::task_clock, until this thread takes it

 private:
  board::board_pe* board_;
  std::uint32_t first_;
  std::uint32_t participants_;
  bool dedicated_;
};

/// The calling thread's. Starts the team of the process at the first call outside of PEs. Null when this thread has no
/// team to share with: more threads post loops than the team has slots for, or the process is ending.
loop_participant* this_participant();

/// Posts the loop for the team, which starts at once. `layout` must live until finish_loop. `strict_owners`: chunks
/// that a layout reserves for an owner are run by no other, if the owners are sure to come. No handle: nothing was
/// posted, because every slot of this thread has a loop in it; run it here.
board::task_handle post_loop(loop_participant& me, loop_call& call, const schedules::loop_layout& layout,
                             bool strict_owners);
/// Takes part until nothing is left to claim, and waits for the chunks of the others. No exception leaves.
void finish_loop(loop_participant& me, board::task_handle posted);

}  // namespace tri::loops
