// What becomes of a job under `trireme run --survive` each time that its processes have ended: a state machine without
// I/O. survivor.cpp carries it out.
//
//   the processes ended because             | then
//   the program ended, with whatever status | the job ends with it
//   the launcher was asked to end them      | the job ends (a signal, --timeout, output without a reader)
//   another number of them is wanted        | the job goes on with that
//   one was killed or crashed, or a host    | the job goes on, with as many or with those that are left; after three
//     was lost                              |   such ends without a new checkpoint in between it ends, for a program
//                                           |   that always crashes would never end
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tri::launch {

/// How the processes of a job have ended.
struct ended_processes {
  int status = 0;
  std::optional<int> requested_status;  ///< the launcher's user has ended it, perhaps while it ended after a loss
  bool lost = false;                    ///< one of them by a signal that the launcher has not sent, or with its host
  std::vector<int> lost_hosts;          ///< by number
  int lost_processes = 0;               ///< how many; at least one where `lost`
  bool has_new_checkpoint = false;
  std::optional<int> wanted_processes;  ///< the program has ended to go on with so many
};

class survival {
 public:
  static constexpr int most_fruitless_lives = 3;
  /// After a loss: as many processes as before, or without those that were lost.
  enum class after_loss : std::uint8_t { same, fewer };

  struct decision {
    std::optional<int> ends_with;  ///< a status; none: the job goes on
    int processes = 0;
    std::vector<int> hosts;  ///< numbers of those that are left
    bool from_checkpoint = false;
    std::string text;  ///< for the user; empty: there is nothing to say
  };

  /// `hosts`: 0 where all processes are on this machine.
  survival(int processes, int hosts, after_loss choice = after_loss::same);
  decision after(const ended_processes& life);

 private:
  decision goes_on(std::string text);

  int processes_;
  after_loss choice_;
  std::vector<int> hosts_;
  bool has_checkpoint_ = false;
  int fruitless_ = 0;
  int lives_ = 1;
};

}  // namespace tri::launch
