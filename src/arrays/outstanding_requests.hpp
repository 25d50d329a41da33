// What a PE has asked of others and not heard the end of: puts and updates that no fence covers yet, fences, sections.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "trireme/detail/arrays/sections.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/os/unique_function.hpp"

namespace tri::arrays {

/// Of one PE, used by its thread.
class outstanding_requests {
 public:
  static outstanding_requests& here();

  outstanding_requests() = default;
  outstanding_requests(const outstanding_requests&) {}  // of the empty one that pe_local copies
  outstanding_requests& operator=(const outstanding_requests&) = delete;
  ~outstanding_requests() = default;

  void note_unfenced(std::int32_t pe) {
    if (pe != last_unfenced_) [[unlikely]]
      unfenced_.insert(last_unfenced_ = pe);
  }
  /// Some may not have been run there yet.
  bool is_unfenced(std::int32_t pe) const { return unfenced_.contains(pe) || asked_.contains(pe); }
  bool nothing_is_unfenced() const { return unfenced_.empty() && asked_.empty(); }
  /// Runs `done` when all puts and updates so far have been run where they went.
  void fence(os::unique_function<void()> done);
  /// The same; such ones end in the order in which they were begun.
  void fence_in_turn(os::unique_function<void()> done);
  void fence_answered(std::uint64_t number, std::int32_t pe);
  std::uint64_t add_transfer(std::unique_ptr<section_transfer> transfer);
  /// `take` returns the fault of the answer. The last answer ends the transfer.
  void answer_transfer(std::uint64_t number, os::function_ref<std::string(section_transfer&)> take);

 private:
  struct pending_fence {
    std::size_t unanswered;
    os::unique_function<void()> done;
  };
  std::string describe_waiting() const;

  bool reports_ = false;                       // to the stall report
  std::unordered_set<std::int32_t> unfenced_;  // PEs that got puts and updates since the last fence
  std::int32_t last_unfenced_ = -1;
  std::unordered_map<std::int32_t, int> asked_;  // those that have fences to answer, how many
  std::uint64_t numbers_ = 0;                    // of fences and transfers
  std::unordered_map<std::uint64_t, pending_fence> fences_;
  struct turn {
    bool is_due = false;
    os::unique_function<void()> done;
  };
  std::deque<turn> turns_;
  std::uint64_t first_turn_ = 0;  // the number of turns_.front()
  std::unordered_map<std::uint64_t, std::unique_ptr<section_transfer>> transfers_;
};

}  // namespace tri::arrays
