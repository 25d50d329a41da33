// The orders of a balancing that one PE carries out: which of its elements have not left, or not arrived. A state
// machine; the collection manager reports what becomes of each element. Used by its PE's thread only.
//
//   ordered -> on its way -> arrived        moved
//   ordered -> it waits for something       waiting: it goes later, which is no longer this balancing's matter
//   ordered -> deleted, kept, or was gone   withdrawn
#pragma once

#include <cstdint>
#include <map>

#include "objects/balance/load_part.hpp"

namespace tri::objects {

class move_list {
 public:
  /// All of a balancing; none is left of one before. `for_host`: ordered by the first PE of the host, not by PE 0.
  void begin(std::uint32_t round, std::int64_t orders, bool for_host = false) {
    round_ = round;
    for_host_ = for_host;
    counts_ = {};
    missing_ = orders;
    has_reported_ = false;
    under_way_.clear();
  }
  /// An order is about to be carried out.
  void ordered(const element_name& name) { under_way_.emplace(name, state::ordered); }
  /// The element is not here, or an order is not possible.
  void cannot() { end_one(counts_.withdrawn); }

  /// Ignored unless the element was ordered to go and has not left yet.
  void waits(const element_name& name) { leave_list(name, state::ordered, counts_.waiting); }
  void stays(const element_name& name) { leave_list(name, state::ordered, counts_.withdrawn); }
  void left(const element_name& name) {
    if (const auto found = under_way_.find(name); found != under_way_.end()) found->second = state::on_its_way;
  }
  /// Ignored unless it was on its way because of an order.
  void arrived(const element_name& name) { leave_list(name, state::on_its_way, counts_.moved); }

  std::uint32_t round() const { return round_; }
  bool is_for_host() const { return for_host_; }
  const move_counts& counts() const { return counts_; }
  /// Once in each round: all orders have ended.
  bool take_end() {
    if (missing_ != 0 || has_reported_) return false;
    return has_reported_ = true;
  }

 private:
  enum class state : std::uint8_t { ordered, on_its_way };
  void end_one(std::int64_t& count) {
    ++count;
    --missing_;
  }
  void leave_list(const element_name& name, state from, std::int64_t& count) {
    const auto found = under_way_.find(name);
    if (found == under_way_.end() || found->second != from) return;
    under_way_.erase(found);
    end_one(count);
  }

  std::map<element_name, state> under_way_;
  std::uint32_t round_ = 0;
  bool for_host_ = false;
  std::int64_t missing_ = 0;
  bool has_reported_ = true;
  move_counts counts_;
};

}  // namespace tri::objects
