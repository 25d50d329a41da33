// A PE's operations on the board: post a task, take part in it, help others, finish. All calls are made by the PE's own
// thread; inside an operation they may be called again (nested tasks), up to slots_per_pe unfinished tasks per PE.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "board/board_view.hpp"
#include "board/claim_search.hpp"
#include "board/progress_pe.hpp"
#include "os/cpu/cpu_hints.hpp"

namespace tri::board {

// A posted task, for its poster. Outdated handles are recognised by the generation.
struct task_handle {
  std::uint32_t slot = ~std::uint32_t{0};  // of the host
  std::uint64_t generation = 0;
  explicit operator bool() const { return slot != ~std::uint32_t{0}; }
};

struct post_result {
  task_handle handle;                // none: every slot of this PE is taken, nothing was posted
  std::uint32_t useful_helpers = 0;  // how many other PEs could find a chunk; the caller decides whether to wake them
};

class board_pe {
 public:
  board_pe(const board_view& view, std::uint32_t pe, std::span<const std::uint32_t> order);

  std::uint32_t pe() const { return pe_; }
  std::uint32_t process() const { return static_cast<std::uint32_t>(process_); }
  std::uint32_t pe_count() const { return view_.pe_count; }
  std::span<const std::uint32_t> order() const { return *order_; }
  progress_pe& progress() { return progress_; }

  // True when there is open work that this PE may run: two reads of lines that are not written while there is none.
  // With more than 16 PEs it may briefly be false although there is.
  bool has_work() const { return host_tasks_.any() || process_tasks_.any(); }
  // Never false although there is: for a PE that has announced its sleep with a seq_cst read-modify-write.
  bool has_work_before_sleep() const { return host_tasks_.any_before_sleep() || process_tasks_.any_before_sleep(); }

  // Opens the task for all its participants and returns at once. Every handle must be passed to finish(). Throws
  // std::invalid_argument, with nothing posted.
  post_result post(const task_spec& spec);

  // The poster's own range (if it is a participant), no stealing. Returns the chunks it ran.
  std::uint32_t run_own(task_handle handle);

  // All chunks have run and their effects are visible to the caller.
  bool finished(task_handle handle) const;

  // Runs the remaining chunks: the own range, the pool, then the back of the others'. Afterwards every chunk is
  // claimed, or reserved for its owner.
  std::uint32_t run_rest(task_handle handle);

  // For a poster that has waited long for owners that were sure to come (owners_come): also runs their reserved chunks.
  // Returns the chunks it ran.
  std::uint32_t run_reserved_chunks(task_handle handle);

  // This PE is running chunks of a task. Waits in there must not take further ones: the operation would be re-entered
  // as the same participant, as deep as there are chunks.
  bool is_in_chunks() const { return in_chunks_ != 0; }

  // Completes the task: run_rest, then `wait()` until the others have finished their last chunks. Gives the slot back.
  // `wait` may do anything a PE does, helping and posting included.
  template <class Wait>
  void finish(task_handle handle, Wait&& wait) {
    if (!finished(handle)) run_rest(handle);
    while (!finished(handle)) wait();
    release(handle);
  }
  void finish(task_handle handle) { finish(handle, os::cpu_relax); }

  // post and finish in one. With one chunk, or no slot free, the caller runs all of it in place.
  template <class Wait>
  void run(const task_spec& spec, Wait&& wait) {
    const post_result posted = post_if_divisible(spec);
    if (posted.handle) {
      finish(posted.handle, wait);
    } else {
      run_in_place(spec);
    }
  }
  void run(const task_spec& spec) { run(spec, os::cpu_relax); }

  // Enters the nearest open task that has work and runs chunks of it as long as there are any and `again()` is true,
  // called after every claim. Returns the number of chunks run; 0 when there was nothing to do. Never waits.
  template <class Again>
  std::uint32_t help(Again&& again) {
    return help(again, [](std::uint32_t) { return true; });
  }
  // The same, of PEs for which `takes_part(poster)` is true only; called when one of them has open work.
  template <class Again, class TakesPart>
  std::uint32_t help(Again&& again, TakesPart&& takes_part) {
    if (!has_work()) return 0;
    if (const std::uint32_t chunks = help_in(host_tasks_, again, takes_part); chunks > 0) return chunks;
    return help_in(process_tasks_, again, takes_part);
  }
  std::uint32_t help() {
    return help([] { return true; });
  }

 private:
  host_words& words_of(std::int32_t process) { return process == any_process ? host_tasks_ : process_tasks_; }
  task_slot& slot_of(task_handle handle) const;  // throws std::logic_error when it is not an unfinished task of this PE
  task_slot* find_slot(const task_spec& spec);
  void fill(task_slot& slot, std::uint32_t index, const task_spec& spec, std::uint32_t chunks);
  void check(const task_spec& spec) const;
  post_result post_checked(const task_spec& spec, std::uint32_t chunks);
  post_result post_if_divisible(const task_spec& spec);
  void run_in_place(const task_spec& spec);
  void release(task_handle handle);
  open_task opened(const task_slot& slot, std::uint32_t index) const {
    return {slot, {slot.rule, view_.lines_of_slot(index)}, view_.operations->chunks.find(slot.operation)};
  }

  template <class Again, class TakesPart>
  std::uint32_t help_in(host_words& words, Again& again, TakesPart& takes_part) {
    if (!words.any()) return 0;
    if (words.word_count() == 1) {  // the usual case, one task open: no search
      const std::uint64_t only = words.word(0);
      if (std::has_single_bit(only)) {
        const auto index = static_cast<std::uint32_t>(std::countr_zero(only));
        const std::uint32_t poster = index / slots_per_pe;
        return poster == pe_ || takes_part(poster) ? help_slot(index, again) : 0;
      }
    }
    if (const std::uint32_t chunks = help_pe(words, pe_, again); chunks > 0) return chunks;
    for (const std::uint32_t victim : *order_) {
      if (words.bits(victim * slots_per_pe, slots_per_pe) == 0 || !takes_part(victim)) continue;
      if (const std::uint32_t chunks = help_pe(words, victim, again); chunks > 0) return chunks;
    }
    return 0;
  }

  template <class Again>
  std::uint32_t help_pe(const host_words& words, std::uint32_t victim, Again& again) {
    std::uint32_t bits = words.bits(victim * slots_per_pe, slots_per_pe);
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t slot = victim * slots_per_pe + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (const std::uint32_t chunks = help_slot(slot, again); chunks > 0) return chunks;
    }
    return 0;
  }

  // Between announce and leave the slot is the same task; before and after nothing of it is used.
  template <class Again>
  std::uint32_t help_slot(std::uint32_t index, Again& again) {
    task_slot& slot = view_.slots()[index];
    os::prefetch_to_write(&view_.lines_of_slot(index)[pe_]);
    __builtin_prefetch(slot.arguments);
    __builtin_prefetch(slot.arguments + argument_words / 2);
    if (!announce_in_slot(slot.state)) {
      withdraw_from_slot(slot.state);
      return 0;
    }
    help_result done;
    if (slot.process == any_process || slot.process == process_) {
      const open_task task = opened(slot, index);
      if (task.operation != nullptr) {  // a process may have attached before it knew the operation: others will run it
        ++in_chunks_;
        done = help_task(task, slot.state, again);
        --in_chunks_;
        if (done.exhausted) words_of(slot.process).clear(index);
      }
    }
    leave_slot(slot.state, done.unreported);
    return done.chunks;
  }

  struct help_result {
    std::uint32_t chunks = 0;
    std::uint32_t unreported = 0;
    bool exhausted = false;
  };

  // Reports the own range before looking for more: the search costs a cache line per participant, and in a balanced
  // loop the poster waits only for this report.
  template <class Again>
  help_result help_task(const open_task& task, host_word& state, Again& again) {
    claim_search search(task.slot.place_of(pe_), *order_);
    const portion own = run_own_range(task, search, pe_, again);
    if (!own.exhausted) return {own.chunks, own.chunks, false};
    if (own.chunks > 0) report_in_slot(state, own.chunks);
    const portion other = run_everywhere(task, search, pe_, again);
    return {own.chunks + other.chunks, other.chunks, other.exhausted};
  }

  board_view view_;
  std::uint32_t pe_;
  std::int32_t process_;
  std::uint32_t process_pes_;                                // PEs of this process
  std::unique_ptr<const std::vector<std::uint32_t>> order_;  // its address stays when this object moves
  host_words host_tasks_;
  host_words process_tasks_;
  progress_pe progress_;
  std::uint32_t in_chunks_ = 0;  // depth
};

}  // namespace tri::board
