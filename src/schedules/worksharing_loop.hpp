// A loop whose participants fetch their iterations chunk by chunk, instead of being called with them: for threads of
// another runtime (src/omp), and programs in C and Fortran. Every participant is sure to come. worksharing_loop is the
// shared part: armed by one thread while none is inside, read-only afterwards except for the claim lines and, when the
// execution is measured, each participant's own times. fetch_position is a participant's private state in the loop.
// Never waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "board/claim_search.hpp"
#include "os/clock.hpp"
#include "schedules/loop_layout.hpp"
#include "schedules/loop_times.hpp"

namespace tri::schedules {

inline constexpr std::uint32_t most_worksharing_threads = 0xffff;

/// The cost of one execution. Each participant writes its own part and marks it when it has found nothing more to run;
/// one that leaves otherwise (a cancelled loop) does not, and the execution is incomplete.
class worksharing_measurement {
 public:
  void open(const loop_layout& layout, std::uint64_t now);
  void ended() { ended_.fetch_add(1, std::memory_order_release); }  // measurement.ended
  bool complete() const {
    return ended_.load(std::memory_order_acquire) == times_.participants().size();  // pairs: measurement.ended
  }
  loop_times& times() { return times_; }
  const loop_times& times() const { return times_; }
  std::uint64_t elapsed() const { return times_.last_end() > began_ ? times_.last_end() - began_ : 0; }
  /// The participant of each tasklet of the layout, if it has any.
  std::span<std::uint32_t> tasklet_owners() { return owners_; }

 private:
  loop_times times_{0, 0};
  std::uint64_t began_ = 0;
  std::atomic<std::uint32_t> ended_{0};
  std::vector<std::uint32_t> owners_;
};

class loop_memory;

class worksharing_loop {
 public:
  /// Opens the loop for one execution by layout.ranges.size() participants. Allocates only when there are more of them
  /// than ever before. Throws std::invalid_argument when there are none or more than most_worksharing_threads.
  void arm(loop_layout&& layout);
  /// Opens it for a further execution of the same layout. Writes the claim lines and nothing else.
  void arm_again();

  /// The execution for which it was just armed is measured from `now` on. Before any participant enters.
  void measure(std::uint64_t now);
  /// Of the last execution, if that was measured; read when no thread is inside.
  worksharing_measurement* measurement() { return measures_ ? measurement_.get() : nullptr; }

  const loop_layout& layout() const { return layout_; }
  std::uint32_t participants() const { return participants_; }

  /// The arming memory's identification of the loop (loop_memory.hpp), for it alone.
  struct memory_link {
    loop_memory* memory = nullptr;
    std::uint64_t revision = 0;     // of the layout
    std::uint64_t measurement = 0;  // number of the measured execution, or 0
    std::uint64_t settled_for = 0;  // executions that may be armed without asking
  };
  memory_link& link() { return link_; }

 private:
  friend class fetch_position;
  struct free_lines {
    void operator()(board::claim_line* lines) const;
  };

  board::claim_lines lines() const { return {rule_, {lines_.get(), participants_ + std::size_t{1}}}; }
  // The others as `participant` sees them, next one first.
  std::span<const std::uint32_t> others(std::uint32_t participant) const {
    return {ring_.get() + participant + 1, participants_ - std::size_t{1}};
  }
  void reserve(std::uint32_t participants);
  // With shares_last_: every participant has the line cached when it comes to its end.
  std::atomic<std::uint32_t>& last_taken() const {
    return (layout_.pool.empty() ? lines_[participants_ - std::size_t{1}] : lines_[participants_]).user_word;
  }

  // Read by every participant, and written as seldom as possible: arming the same layout again touches none of it.
  board::claim_rule rule_;
  std::uint32_t participants_ = 0;
  std::uint32_t chunks_ = 0;
  std::uint32_t capacity_ = 0;  // participants for which there are lines
  bool measures_ = false;       // the execution that it was armed for last
  // Participants may take chunks of each other's ranges, so the one that claims the last chunk may still find others.
  // Then the chunk is not taken by that claim, but goes to the first participant that finds nothing else.
  bool shares_last_ = false;
  std::unique_ptr<board::claim_line[], free_lines> lines_;
  std::unique_ptr<std::uint32_t[]> ring_;  // 0, 1, ... twice over
  std::unique_ptr<worksharing_measurement> measurement_;
  loop_layout layout_;
  // Used by the arming thread.
  alignas(64) memory_link link_;
};

struct item_span {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool empty() const { return first >= last; }
};

class fetch_position {
 public:
  fetch_position() : search_(0, {}) {}
  fetch_position(worksharing_loop& loop, std::uint32_t participant)
      : loop_(&loop), search_(participant, loop.others(participant)) {
    if (loop.measures_) [[unlikely]]
      measure(*loop.measurement_, participant);
  }

  /// The iterations to run next; none when nothing is left for this participant. The chunk that holds the last
  /// iteration of the loop always comes last for its participant: compilers copy `lastprivate` variables from the
  /// thread whose final iteration that was. No participant keeps it back while it runs other chunks: they may wait for
  /// it.
  item_span next() {
    if (measurement_ != nullptr) [[unlikely]]
      return next_at(os::ticks());
    return fetch();
  }
  /// The same in an execution that is measured, at this tick: the iterations returned before have run by now.
  item_span next_at(std::uint64_t now);
  /// The iterations that next() returned hold the last one of the loop.
  bool was_last() const { return was_last_; }

 private:
  item_span fetch() {
    if (pending_.empty()) {
      pending_ = search_.next(loop_->lines());
      if (pending_.empty()) return held_ || (loop_->shares_last_ && take_last()) ? last_chunk() : item_span{};
    }
    return hand_out();
  }
  void measure(worksharing_measurement& into, std::uint32_t participant);
  void remember_owner(board::chunk_span chunks);
  item_span hand_out();
  // relaxed: it distributes a number, as a claim does (board/claim_word.hpp); most find it taken, and only read
  bool take_last() {
    std::atomic<std::uint32_t>& taken = loop_->last_taken();
    return taken.load(std::memory_order_relaxed) == 0 && taken.exchange(1, std::memory_order_relaxed) == 0;
  }
  item_span last_chunk();

  worksharing_loop* loop_ = nullptr;
  board::claim_search search_;
  board::chunk_span pending_;  // claimed and not yet handed out
  bool held_ = false;          // the last chunk of the loop is ours and comes next, as nothing else is left
  bool was_last_ = false;
  std::uint32_t participant_ = 0;  // of a measured execution, as the rest
  worksharing_measurement* measurement_ = nullptr;
  item_span running_;
  std::uint64_t running_since_ = 0;
};

}  // namespace tri::schedules
