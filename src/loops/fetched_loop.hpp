// A loop whose participants fetch their iterations piece by piece, instead of being called with them: what threads use
// that some other runtime started (src/omp), and programs in C and Fortran. Every participant is sure to come.
// fetched_loop is the part they share: armed by one thread while nobody is inside, read-only afterwards but for the
// claim lines. fetch_position is what each participant keeps for itself while it goes through the loop. Never waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "board/task_portion.hpp"
#include "loops/loop_layout.hpp"

namespace tri::loops {

inline constexpr std::uint32_t most_fetchers = 0xffff;

class fetched_loop {
 public:
  /// Opens the loop for one execution by layout.ranges.size() participants. Allocates only when there are more of them
  /// than ever before. Throws std::invalid_argument when there are none or more than most_fetchers.
  void arm(loop_layout&& layout);
  /// Opens it for a further execution of the same layout. Writes the claim lines and nothing else.
  void arm_again();

  const loop_layout& layout() const { return layout_; }
  std::uint32_t participants() const { return participants_; }

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

  board::claim_rule rule_;
  std::uint32_t participants_ = 0;
  std::uint32_t chunks_ = 0;
  std::uint32_t room_ = 0;  // participants for which there are lines
  std::unique_ptr<board::claim_line[], free_lines> lines_;
  std::unique_ptr<std::uint32_t[]> ring_;  // 0, 1, ... twice over
  loop_layout layout_;
};

struct item_span {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool empty() const { return first >= last; }
};

class fetch_position {
 public:
  fetch_position() : search_(0, {}) {}
  fetch_position(fetched_loop& loop, std::uint32_t participant)
      : loop_(&loop), search_(participant, loop.others(participant)) {}

  /// The iterations to run next; none when nothing is left for this participant. The chunk that holds the last
  /// iteration of the loop always comes last for whoever claimed it: compilers copy `lastprivate` variables from the
  /// thread whose final iteration that was.
  item_span next() {
    if (pending_.empty()) {
      pending_ = search_.next(loop_->lines());
      if (pending_.empty()) return held_ ? release_held() : item_span{};
    }
    return hand_out();
  }
  /// The iterations that next() returned hold the last one of the loop.
  bool was_last() const { return was_last_; }

 private:
  item_span hand_out();
  item_span release_held();

  fetched_loop* loop_ = nullptr;
  board::claim_search search_;
  board::chunk_span pending_;  // claimed and not yet handed out
  bool held_ = false;          // the last chunk of the loop is ours and still to be run
  bool was_last_ = false;
};

}  // namespace tri::loops
