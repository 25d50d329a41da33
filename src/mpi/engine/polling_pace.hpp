// For calls that poll (MPI_Test, MPI_Iprobe), with more ranks than cores: whether a loop only polls, as a wait does, or
// the program works between its polls. A working program yields its core now and then, because others may need it, and
// never sleeps: its work would stop while a core may be idle (three ranks with 2 us of work between polls on two cores
// took 20 times as long as without the drop-in). A state machine without a clock of its own; times in ticks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tri::mpi {

class polling_pace {
 public:
  struct limits {
    std::uint64_t own_work = 0;        // between two polls, on average: more than a pure polling loop needs
    std::uint64_t shortest_offer = 0;  // between two yields, while other ranks use the core
    std::uint64_t longest_offer = 0;   // and when none does
  };
  explicit polling_pace(const limits& chosen) : limits_(chosen), between_(chosen.shortest_offer) {}

  /// An unsuccessful poll, this long after the last one.
  void looked(std::uint64_t after) { average_ = average_ - average_ / weight + after / weight; }
  bool works_between() const { return average_ > limits_.own_work; }
  bool is_time_to_offer(std::uint64_t now) const { return now - offered_ >= between_; }
  /// The core was yielded until `now`; `in_vain`: it came back at once.
  void offered(std::uint64_t now, bool in_vain) {
    offered_ = now;
    between_ = in_vain ? std::min(between_ * 2, limits_.longest_offer) : limits_.shortest_offer;
  }

 private:
  static constexpr std::uint64_t weight = 8;
  limits limits_;
  std::uint64_t average_ = 0;
  std::uint64_t offered_ = 0;
  std::uint64_t between_;
};

}  // namespace tri::mpi
