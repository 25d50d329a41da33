// Results that a PE waits for: futures and the roots of reductions. A result is named by a slot and a generation, so
// that a value that arrives after its future has been destroyed is recognised and dropped. One table per PE, used by
// its thread only.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::objects {

/// Names a class of results by an address of its own: messages name results by numbers, and the result found must be of
/// the class that the message has a value for.
template <class Result>
inline char kind_of_result = 0;

/// Base of everything a message can deliver a result to.
class awaited_result {
 public:
  explicit awaited_result(const void* kind) : kind_(kind) {}
  awaited_result(const awaited_result&) = delete;
  awaited_result& operator=(const awaited_result&) = delete;
  virtual ~awaited_result() = default;
  /// For the stall report: what is awaited, and what is missing.
  virtual std::string describe() const = 0;
  virtual bool is_ready() const = 0;
  virtual void fail(std::exception_ptr error) = 0;
  /// The job ends before the result arrived; self-owned results delete themselves.
  virtual void abandon() {}
  /// For the roots of contributions: an element that would have taken part was deleted.
  virtual void member_left() {}
  /// &kind_of_result of the class that messages know it as.
  const void* kind() const { return kind_; }

 private:
  const void* kind_;
};

class result_table {
 public:
  struct name {
    std::uint32_t slot;
    std::uint32_t generation;
  };
  name add(awaited_result& result) {
    std::uint32_t slot = first_free_;
    if (slot == no_slot) {
      slot = static_cast<std::uint32_t>(rows_.size());
      rows_.push_back({});
    } else {
      first_free_ = rows_[slot].next_free;
    }
    rows_[slot].result = &result;
    return {slot, rows_[slot].generation};
  }
  void remove(name which) {
    entry& removed = rows_[which.slot];
    removed.result = nullptr;
    ++removed.generation;
    removed.next_free = first_free_;
    first_free_ = which.slot;
  }
  /// Null when it is no longer awaited.
  awaited_result* find(std::uint32_t slot, std::uint32_t generation) const {
    return slot < rows_.size() && rows_[slot].generation == generation ? rows_[slot].result : nullptr;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const entry& each : rows_)
      if (each.result != nullptr) visit(*each.result);
  }

 private:
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};
  struct entry {
    awaited_result* result = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = no_slot;
  };
  std::vector<entry> rows_;
  std::uint32_t first_free_ = no_slot;
};

}  // namespace tri::objects

#pragma GCC visibility pop
