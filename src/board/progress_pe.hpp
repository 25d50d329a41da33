// One PE's side of the progress entries: offers its own, exposes it while it computes, and runs those of others.
// All calls by the PE's own thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "board/board_view.hpp"
#include "os/cpu/cpu_hints.hpp"

namespace tri::board {

class progress_pe {
 public:
  progress_pe(const board_view& view, std::uint32_t pe, std::span<const std::uint32_t> order);

  // Sets the operation that others may call on behalf of this PE. Waits while another PE is in the entry (at most one
  // call of the operation). Throws std::invalid_argument for an unknown operation or a process this PE does not belong
  // to.
  void register_entry(operation_id operation, const std::array<std::uint64_t, progress_argument_words>& arguments,
                      std::int32_t process = any_process);
  // Removes it; no caller is in the entry afterwards.
  void unregister_entry();

  // Offers progress: there is something to do that this PE does not poll for now; and withdraws that. Without a
  // registered entry: throws std::logic_error.
  void offer_progress();
  void withdraw_progress() { words_of(offered_to_).clear(pe_); }

  // Exclusive right to this PE's communication state; never waits. Re-entrant for its holder.
  bool try_hold(std::uint32_t owner) { return try_claim(view_.entries()[owner], pe_); }
  void release(std::uint32_t owner) { release_claim(view_.entries()[owner]); }

  // True when some PE offers its entry: two reads of lines that are not written meanwhile.
  bool any_offered() const { return host_.any() || process_words_.any(); }
  // The same for a PE that has announced its sleep: see board_pe::has_work_before_sleep.
  bool any_offered_before_sleep() const { return host_.any_before_sleep() || process_words_.any_before_sleep(); }

  // Runs the entry of the nearest offering PE that is free; true if the operation did something.
  bool help() { return any_offered() && (help_in(host_) || help_in(process_words_)); }

 private:
  host_words& words_of(std::int32_t process) { return process == any_process ? host_ : process_words_; }
  bool help_in(host_words& words);
  bool run_entry(std::uint32_t owner);
  void hold_own() {
    while (!try_hold(pe_)) os::cpu_relax();
  }

  board_view view_;
  std::uint32_t pe_;
  std::int32_t process_;
  std::int32_t offered_to_ = any_process;
  bool registered_ = false;
  std::span<const std::uint32_t> order_;
  host_words host_;
  host_words process_words_;
};

}  // namespace tri::board
