// Runs a layout with the board's own claiming code, one thread playing all participants, in an order that the test
// says.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "board/claim_search.hpp"
#include "board/victim_order.hpp"
#include "schedules/loop_layout.hpp"

namespace tri::schedules {

struct executed_block {
  std::uint32_t participant;
  std::uint64_t first;
  std::uint64_t last;
  friend bool operator==(const executed_block&, const executed_block&) = default;
};

class layout_runner {
 public:
  explicit layout_runner(const loop_layout& layout, bool owners_come = true)
      : layout_(layout), task_(task_of(layout)), lines_(layout.ranges.size() + 1) {
    task_.owners_come = owners_come;
    board::check_task(task_, {task_.participants, 1});
    rule_ = board::rule_of(task_);
    board::fill_lines(task_, layout.chunks(), lines_);
    for (std::uint32_t index = 0; index < task_.participants; ++index) {
      orders_.push_back(board::ring_order(index, task_.participants));
    }
    for (std::uint32_t index = 0; index < task_.participants; ++index) searches_.emplace_back(index, orders_[index]);
  }
  layout_runner(const layout_runner&) = delete;
  layout_runner& operator=(const layout_runner&) = delete;

  // One claim of this participant; false: it found nothing.
  bool step(std::uint32_t participant) {
    const board::chunk_span claimed = searches_[participant].next({rule_, lines_});
    if (claimed.empty()) return false;
    ++claims;
    layout_.for_each_block(claimed, [&](std::uint64_t first, std::uint64_t last) {
      blocks.push_back({participant, first, last});
    });
    return true;
  }
  // All of one participant's claims.
  void finish(std::uint32_t participant) {
    while (step(participant)) continue;
  }
  // Everybody in turn until nothing is left.
  void in_turn() {
    for (bool any = true; any;) {
      any = false;
      for (std::uint32_t index = 0; index < task_.participants; ++index) any |= step(index);
    }
  }
  std::vector<int> runs() const {
    std::vector<int> result(layout_.items);
    for (const executed_block& block : blocks) {
      for (std::uint64_t item = block.first; item < block.last; ++item) ++result.at(item);
    }
    return result;
  }
  std::vector<std::uint32_t> owners() const {
    std::vector<std::uint32_t> result(layout_.items, no_owner);
    for (const executed_block& block : blocks) {
      for (std::uint64_t item = block.first; item < block.last; ++item) result.at(item) = block.participant;
    }
    return result;
  }
  std::vector<std::uint64_t> lengths() const {
    std::vector<std::uint64_t> result;
    for (const executed_block& block : blocks) result.push_back(block.last - block.first);
    return result;
  }
  std::uint64_t items_by(std::uint32_t participant) const {
    std::uint64_t items = 0;
    for (const executed_block& block : blocks) items += block.participant == participant ? block.last - block.first : 0;
    return items;
  }

  std::vector<executed_block> blocks;
  std::uint32_t claims = 0;

 private:
  const loop_layout& layout_;
  board::task_spec task_;
  board::claim_rule rule_;
  std::vector<board::claim_line> lines_;
  std::vector<std::vector<std::uint32_t>> orders_;
  std::vector<board::claim_search> searches_;
};

}  // namespace tri::schedules
