// How far one collective of a team has come on one member: a state machine without I/O. Values go up a tree of the
// members, or down it, or up and then down; the caller moves and combines them when this says so.
//
//   event            by                                               may come
//   called           the program on this member                       once, at any time
//   child_arrived    the value of a child's subtree                   once for each child, if values go up
//   parent_arrived   what the parent hands down                       once, if values go down; not for the root
//
// A member hands on what comes down before its program has called: it needs nothing of its own for that. What goes up
// waits for the call.
#pragma once

#include <cstdint>
#include <optional>

#pragma GCC visibility push(default)

namespace tri::objects {

class collective_progress {
 public:
  enum class action : std::uint8_t {
    combine,    ///< own value and those of all children are there; not the root: the sum goes to the parent
    hand_down,  ///< the value for this subtree is there: the children get theirs
    finish,     ///< the last one: the program gets its result
  };
  enum class direction : std::uint8_t { up = 1, down = 2, up_and_down = 3 };

  collective_progress(direction goes, int children, bool is_root)
      : goes_(goes), is_root_(is_root), missing_children_(children) {}

  void called() { is_called_ = true; }
  void child_arrived() { --missing_children_; }
  void parent_arrived() { is_handed_to_ = true; }
  bool is_called() const { return is_called_; }

  /// What is to be done now, each once, in this order.
  std::optional<action> next() {
    if (goes_up() && !has_combined_ && is_called_ && missing_children_ == 0) {
      has_combined_ = true;
      return action::combine;
    }
    if (goes_down() && !has_handed_down_ && has_value_for_subtree()) {
      has_handed_down_ = true;
      return action::hand_down;
    }
    if (!has_finished_ && is_called_ && (has_combined_ || !goes_up()) && (has_handed_down_ || !goes_down())) {
      has_finished_ = true;
      return action::finish;
    }
    return {};
  }
  bool has_finished() const { return has_finished_; }
  bool waits_for_children() const { return goes_up() && missing_children_ > 0; }
  bool waits_for_parent() const { return goes_down() && !is_root_ && !is_handed_to_; }
  /// For explorations: everything that decides the future.
  std::uint64_t state() const {
    return static_cast<std::uint64_t>(missing_children_) << 8 | std::uint64_t{is_called_} |
           std::uint64_t{is_handed_to_} << 1 | std::uint64_t{has_combined_} << 2 |
           std::uint64_t{has_handed_down_} << 3 | std::uint64_t{has_finished_} << 4;
  }

 private:
  bool goes_up() const { return (static_cast<unsigned>(goes_) & static_cast<unsigned>(direction::up)) != 0; }
  bool goes_down() const { return (static_cast<unsigned>(goes_) & static_cast<unsigned>(direction::down)) != 0; }
  bool has_value_for_subtree() const {
    if (!is_root_) return is_handed_to_;
    return goes_up() ? has_combined_ : is_called_;
  }

  direction goes_;
  bool is_root_;
  bool is_called_ = false;
  bool is_handed_to_ = false;
  bool has_combined_ = false;
  bool has_handed_down_ = false;
  bool has_finished_ = false;
  int missing_children_;
};

}  // namespace tri::objects

#pragma GCC visibility pop
